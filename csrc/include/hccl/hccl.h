// Collective communication between devices, of one process or of several.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface. Collectives are asynchronous: they run in the
// order of the stream, and their buffers belong to them until the stream has been synchronised.
#pragma once

#include "hccl_types.h"

// --- communicators ---------------------------------------------------------------------------------------------------------------------

/// Called on the root rank; the result is then sent to all ranks.
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo);

/// Called on each rank, for its current device; returns when all ranks are there.
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank, HcclComm* comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                                          const HcclCommConfig* config, HcclComm* comm);

/// Joins the ranks that a rank table lists, in the same way. clusterInfo is the path of the file. Rank 0 listens at its server's host_ip,
/// or its server_id if that is an address, or at the loopback address if there is one server; at its device's host_port, or else at
/// HCCL_IF_BASE_PORT (60000).
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config,
                                                             HcclComm* comm);

/// Makes a communicator for each of the process's devices, which are the ranks.
ACL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms);

/// Makes a communicator of some ranks of another, and is called by these. rankIds has their ranks in that one; subCommRankId is the
/// caller's in the new one.
ACL_FUNC_VISIBILITY HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                                       uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm);

/// Waits for what has been launched on the communicator.
ACL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);

ACL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank);
/// commName has room for 128 characters.
ACL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char* commName);
/// Tells whether a collective failed after it was launched, and no synchronisation has reported that within two seconds.
ACL_FUNC_VISIBILITY HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError);
ACL_FUNC_VISIBILITY const char* HcclGetErrorString(HcclResult code);

/// Returns a number greater than each HcclCommConfigCapability that is supported.
ACL_FUNC_VISIBILITY uint32_t HcclGetCommConfigCapability(void);
ACL_FUNC_VISIBILITY HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);

// --- collectives -----------------------------------------------------------------------------------------------------------------------

ACL_FUNC_VISIBILITY HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                                          uint32_t root, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                                             aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                                             aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGatherV(const void* sendBuf, uint64_t sendCount, const void* recvBuf, const void* recvCounts,
                                              const void* recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                                                 HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatterV(const void* sendBuf, const void* sendCounts, const void* sendDispls, const void* recvBuf,
                                                  uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                                  aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                                           HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf,
                                            uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls, HcclDataType sendType,
                                             const void* recvBuf, const void* recvCounts, const void* rdispls, HcclDataType recvType,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

// --- point to point --------------------------------------------------------------------------------------------------------------------

ACL_FUNC_VISIBILITY HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                                        aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                                        aclrtStream stream);
/// Sends and receives all items at once, in no order.
ACL_FUNC_VISIBILITY HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream);
/// What the calling thread sends and receives between them goes at once, in no order, when the outermost group ends.
ACL_FUNC_VISIBILITY HcclResult HcclGroupStart(void);
ACL_FUNC_VISIBILITY HcclResult HcclGroupEnd(void);

// --- windows ---------------------------------------------------------------------------------------------------------------------------

/// Registers device memory of this rank that others write into, as aclnnAttentionToFFN and aclnnFFNToAttention do. `flag` is 0, and a
/// communicator has one window.
ACL_FUNC_VISIBILITY HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag);
/// Opens the windows of those ranks, each of which names this one in its own call; returns when all have.
ACL_FUNC_VISIBILITY HcclResult HcclCommExchangeMem(HcclComm comm, void* windowHandle, uint32_t* peerRanks, uint32_t peerRankNum);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeregister(HcclComm comm, void* handle);
