"""Devices, contexts, streams, events and memory: ``acl.rt``."""

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

from acl._binding import LIBRARY, bind, refuse_all, to_integer, wrong_type

TABLE = """
set_device                      aclrtSetDevice                    device_id:i32
reset_device                    aclrtResetDevice                  device_id:i32
get_device                      aclrtGetDevice                    >device_id:i32
get_device_count                aclrtGetDeviceCount               >count:u32
get_run_mode                    aclrtGetRunMode                   >run_mode:i32
synchronize_device              aclrtSynchronizeDevice
synchronize_device_with_timeout aclrtSynchronizeDeviceWithTimeout timeout:i32
device_can_access_peer          aclrtDeviceCanAccessPeer          >can_access_peer:i32 device_id:i32 peer_device_id:i32
device_enable_peer_access       aclrtDeviceEnablePeerAccess       peer_device_id:i32 flags:u32
set_device_sat_mode             aclrtSetDeviceSatMode             mode:i32
set_op_wait_timeout             aclrtSetOpWaitTimeout             timeout:u32

create_context                  aclrtCreateContext                >context:address device_id:i32
destroy_context                 aclrtDestroyContext               context:address
set_context                     aclrtSetCurrentContext            context:address
get_context                     aclrtGetCurrentContext            >context:address

create_stream                   aclrtCreateStream                 >stream:address
create_stream_with_config       aclrtCreateStreamWithConfig       >stream:address priority:u32 flag:u32
destroy_stream                  aclrtDestroyStream                stream:address
destroy_stream_force            aclrtDestroyStreamForce           stream:address
synchronize_stream              aclrtSynchronizeStream            stream:address
synchronize_stream_with_timeout aclrtSynchronizeStreamWithTimeout stream:address timeout:i32
stream_query                    aclrtStreamQuery                  stream:address >status:i32
stream_wait_event               aclrtStreamWaitEvent              stream:address event:address
set_stream_failure_mode         aclrtSetStreamFailureMode         stream:address mode:u64
set_stream_overflow_switch      aclrtSetStreamOverflowSwitch      stream:address flag:u32
get_stream_overflow_switch      aclrtGetStreamOverflowSwitch      stream:address >flag:u32
get_overflow_status             aclrtGetOverflowStatus            output_addr:address output_size:size stream:address
reset_overflow_status           aclrtResetOverflowStatus          stream:address

create_event                    aclrtCreateEvent                  >event:address
create_event_with_flag          aclrtCreateEventWithFlag          >event:address flag:u32
create_event_ex_with_flag       aclrtCreateEventExWithFlag        >event:address flag:u32
destroy_event                   aclrtDestroyEvent                 event:address
record_event                    aclrtRecordEvent                  event:address stream:address
reset_event                     aclrtResetEvent                   event:address stream:address
query_event                     aclrtQueryEvent                   event:address >status:i32
query_event_status              aclrtQueryEventStatus             event:address >status:i32
query_event_wait_status         aclrtQueryEventWaitStatus         event:address >status:i32
synchronize_event               aclrtSynchronizeEvent             event:address
synchronize_event_with_timeout  aclrtSynchronizeEventWithTimeout  event:address timeout:i32
event_elapsed_time              aclrtEventElapsedTime             >ms:float start:address end:address

malloc                          aclrtMalloc                       >dev_ptr:address size:size policy:i32
malloc_align32                  aclrtMallocAlign32                >dev_ptr:address size:size policy:i32
malloc_cached                   aclrtMallocCached                 >dev_ptr:address size:size policy:i32
mem_flush                       aclrtMemFlush                     dev_ptr:address size:size
mem_invalidate                  aclrtMemInvalidate                dev_ptr:address size:size
free                            aclrtFree                         dev_ptr:address
malloc_host                     aclrtMallocHost                   >host_ptr:address size:size
free_host                       aclrtFreeHost                     host_ptr:address
memset                          aclrtMemset                       dev_ptr:address max_count:size value:i32 count:size
memset_async                    aclrtMemsetAsync                  dev_ptr:address max_count:size value:i32 count:size stream:address
memcpy                          aclrtMemcpy                       dst:address dest_max:size src:address count:size kind:i32
memcpy_async                    aclrtMemcpyAsync                  dst:address dest_max:size src:address count:size kind:i32 stream:address
memcpy2d aclrtMemcpy2d dst:address dpitch:size src:address spitch:size width:size height:size kind:i32
memcpy2d_async aclrtMemcpy2dAsync dst:address dpitch:size src:address spitch:size width:size height:size kind:i32 stream:address
get_mem_info                    aclrtGetMemInfo                   attr:i32 >free:size >total:size
reserve_mem_address             aclrtReserveMemAddress            >vir_ptr:address size:size alignment:size expect_ptr:address flags:u64
release_mem_address             aclrtReleaseMemAddress            vir_ptr:address
malloc_physical                 aclrtMallocPhysical               >handle:address size:size prop:physical flags:u64
free_physical                   aclrtFreePhysical                 handle:address
map_mem                         aclrtMapMem                       vir_ptr:address size:size offset:size handle:address flags:u64
unmap_mem                       aclrtUnmapMem                     vir_ptr:address
mem_get_allocation_granularity  aclrtMemGetAllocationGranularity  prop:physical option:i32 >granularity:size
mem_export_to_shareable_handle  aclrtMemExportToShareableHandle   handle:address handle_type:i32 flags:u64 >shareable_handle:u64
mem_import_from_shareable_handle aclrtMemImportFromShareableHandle shareable_handle:u64 device_id:i32 >handle:address
device_get_bare_tgid            aclrtDeviceGetBareTgid            >pid:i32

subscribe_report                aclrtSubscribeReport              thread_id:u64 stream:address
process_report                  aclrtProcessReport                timeout:i32
unsubscribe_report              aclrtUnSubscribeReport            thread_id:u64 stream:address
"""
globals().update(bind(__name__, TABLE))
globals().update(
    refuse_all(
        __name__,
        {
            "chip whose state could be asked for": "get_device_utilization_rate query_device_status set_ts_device",
            "groups of a chip's cores": (
                "set_group get_group_count create_group_info destroy_group_info get_all_group_info get_group_info_detail"
            ),
            "reports of a chip's exceptions": (
                "set_exception_info_callback get_task_id_from_exception_info get_stream_id_from_exception_info "
                "get_thread_id_from_exception_info get_device_id_from_exception_info"
            ),
            "list of processes in Python": "mem_set_pid_to_shareable_handle",
        },
    )
)

# The callbacks that have not run yet, by the number that C hands back. Those of a graph stay, which runs them at each replay.
_callbacks: dict[int, tuple[Callable[[Any], object], Any, bool]] = {}
_numbers = itertools.count(1)


def _run_callback(number: int) -> None:
    function, user_data, stays = _callbacks[number]
    if not stays:
        del _callbacks[number]
    function(user_data)


_RUN_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_run_callback)


def launch_callback(fn: Callable[[Any], object], user_data_list: Any, block_type: int, stream: int, /) -> int:
    """Have the stream's thread call ``fn(user_data_list)``: ``ret = acl.rt.launch_callback(fn, user_data_list, block_type, stream)``."""
    shown = f"{__name__}.launch_callback"
    if not callable(fn):
        raise wrong_type(shown, "fn", "a function", fn)
    block, handle = to_integer(shown, "block_type", "i32", block_type), to_integer(shown, "stream", "address", stream)
    number = next(_numbers)
    _callbacks[number] = fn, user_data_list, _is_captured(handle)
    code: int = LIBRARY.aclrtLaunchCallback(_RUN_CALLBACK, ctypes.c_void_p(number), block, handle)
    if code != 0:
        del _callbacks[number]
    return code


def _is_captured(stream: ctypes.c_size_t) -> bool:
    status, graph = ctypes.c_int32(), ctypes.c_void_p()
    LIBRARY.aclmdlRICaptureGetInfo(stream, ctypes.byref(status), ctypes.byref(graph))
    return status.value != 0
