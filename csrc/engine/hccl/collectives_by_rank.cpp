// The collectives in which each pair of ranks has a count of its own.

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/hccl/communicator.h"
#include "engine/hccl/data_types.h"
#include "engine/hccl/guarded_hccl.h"
#include "engine/runtime/memory/host_view.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

using Counts = std::vector<uint64_t>;

// The beginnings and lengths of the ranks' parts of a buffer, in elements. The caller's arrays are copied.
struct Layout {
    Counts counts, displacements;

    // Returns the bytes from the buffer's beginning to the end of the last part.
    size_t extent(const char* parameter, HcclDataType type) const {
        uint64_t end = 0;
        for (size_t i = 0; i < counts.size(); ++i) {
            uint64_t part_end = 0;
            if (counts[i] != 0 && __builtin_add_overflow(displacements[i], counts[i], &part_end)) part_end = UINT64_MAX;
            end = std::max(end, part_end);
        }
        return bytes_of_elements(parameter, end, type);
    }

    uint64_t total() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

    bool contiguous() const {
        uint64_t next = 0;
        for (size_t i = 0; i < counts.size(); ++i) {
            if (counts[i] != 0 && displacements[i] != next) return false;
            next += counts[i];
        }
        return true;
    }
};

Counts copy_of(const char* parameter, const void* values, int size) {
    require_hccl_pointer(parameter, values);
    const auto* const first = static_cast<const uint64_t*>(values);
    return Counts(first, first + size);
}

// All parts one behind the other, as Group wants them; they are copied only where they are not.
class Contiguous {
   public:
    Contiguous(const void* buffer, const Layout& layout, size_t element) : buffer_(host_view(buffer)), layout_(layout), element_(element) {
        if (!layout.contiguous()) copy_.resize(layout.total() * element);
    }

    void* data() { return copy_.empty() ? const_cast<void*>(buffer_) : copy_.data(); }

    void read() {
        for_each_part([](char* part, char* inside, size_t bytes) { std::memcpy(inside, part, bytes); });
    }
    void write_back() {
        for_each_part([](char* part, char* inside, size_t bytes) { std::memcpy(part, inside, bytes); });
    }

   private:
    void for_each_part(auto action) {
        if (copy_.empty()) return;
        char* const outside = static_cast<char*>(const_cast<void*>(buffer_));
        char* inside = copy_.data();
        for (size_t i = 0; i < layout_.counts.size(); ++i) {
            const size_t bytes = layout_.counts[i] * element_;
            if (bytes != 0) action(outside + layout_.displacements[i] * element_, inside, bytes);
            inside += bytes;
        }
    }

    const void* const buffer_;
    const Layout& layout_;
    const size_t element_;
    std::vector<char> copy_;
};

Parts parts_of(void* data, const Counts& counts, size_t element) {
    Parts parts{data, {}};
    for (const uint64_t count : counts) parts.bytes.push_back(static_cast<int64_t>(count * element));
    return parts;
}

void all_to_all(Group& group, const void* input, const Layout& sent, const void* output, const Layout& received, size_t element) {
    Contiguous from(input, sent, element), to(output, received, element);
    from.read();
    group.all_to_all(parts_of(from.data(), sent.counts, element), parts_of(to.data(), received.counts, element));
    to.write_back();
}

void all_gather(Group& group, const void* input, const void* output, const Layout& received, size_t element) {
    std::vector<Part> parts;
    for (size_t rank = 0; rank < received.counts.size(); ++rank)
        parts.push_back({received.displacements[rank] * element, received.counts[rank] * element});
    group.all_gather_parts(input, const_cast<void*>(output), parts);
}

void reduce_scatter(Group& group, const void* input, const Layout& sent, void* output, HcclDataType type, HcclReduceOp op, int rank) {
    const size_t element = bytes_of(type);
    Contiguous from(input, sent, element);
    from.read();
    std::vector<char> reduced(sent.total() * element);
    group.all_reduce(from.data(), reduced.data(), sent.total(), type, op);
    const auto own = sent.counts.begin() + rank;
    const uint64_t before = std::accumulate(sent.counts.begin(), own, uint64_t{0});
    if (*own != 0) std::memcpy(host_view(output), reduced.data() + before * element, *own * element);
}

Operation operation_of(OperationKind kind, HcclDataType type, Counts gives, Counts takes, std::vector<Buffer> buffers, int op = -1) {
    return {{kind, type, 0, -1, op}, std::move(gives), std::move(takes), std::move(buffers)};
}

void require_same_type(HcclDataType sent, HcclDataType received) {
    if (sent != received) refuse(HCCL_E_PARA, "recvType", text("sendType's ", name_of(sent)), name_of(received));
}

void require_own_count(const char* parameter, uint64_t count, const char* counts_parameter, const Layout& layout, int rank) {
    const uint64_t expected = layout.counts[static_cast<size_t>(rank)];
    if (count != expected)
        refuse(HCCL_E_PARA, parameter, text(expected, ", which ", counts_parameter, " has for this rank"), std::to_string(count));
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf, uint64_t recvCount,
                                   HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    return traced_on(comm, stream, __func__, call_arguments("sendType", name_of(sendType)), [&](const auto& communicator) {
        require_same_type(sendType, recvType);
        if (sendCount != recvCount) refuse(HCCL_E_PARA, "recvCount", text("sendCount's ", sendCount), std::to_string(recvCount));
        const size_t element = bytes_of(sendType), bytes = bytes_of_elements("sendCount", sendCount, sendType, communicator->size());
        const Counts counts(static_cast<size_t>(communicator->size()), sendCount);
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, bytes, true}, {"recvBuf", recvBuf, bytes}};
        communicator->launch({{OperationKind::all_to_all, sendType, sendCount, -1, -1}, {}, {}, buffers}, stream, [=](Group& group) {
            group.all_to_all(parts_of(const_cast<void*>(sendBuf), counts, element), parts_of(const_cast<void*>(recvBuf), counts, element));
        });
    });
}

extern "C" HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls, HcclDataType sendType,
                                    const void* recvBuf, const void* recvCounts, const void* rdispls, HcclDataType recvType, HcclComm comm,
                                    aclrtStream stream) {
    return traced_on(comm, stream, __func__, call_arguments("sendType", name_of(sendType)), [&](const auto& communicator) {
        require_same_type(sendType, recvType);
        const int size = communicator->size();
        const Layout sent{copy_of("sendCounts", sendCounts, size), copy_of("sdispls", sdispls, size)};
        const Layout received{copy_of("recvCounts", recvCounts, size), copy_of("rdispls", rdispls, size)};
        const size_t element = bytes_of(sendType);
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, sent.extent("sendCounts and sdispls", sendType), true},
                                          {"recvBuf", recvBuf, received.extent("recvCounts and rdispls", recvType)}};
        communicator->launch(operation_of(OperationKind::all_to_all_v, sendType, sent.counts, received.counts, buffers), stream,
                             [=](Group& group) { all_to_all(group, sendBuf, sent, recvBuf, received, element); });
    });
}

extern "C" HcclResult HcclAllGatherV(const void* sendBuf, uint64_t sendCount, const void* recvBuf, const void* recvCounts,
                                     const void* recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
    return traced_on(comm, stream, __func__, call_arguments("dataType", name_of(dataType)), [&](const auto& communicator) {
        const int size = communicator->size(), rank = communicator->rank();
        const Layout received{copy_of("recvCounts", recvCounts, size), copy_of("recvDispls", recvDispls, size)};
        require_own_count("sendCount", sendCount, "recvCounts", received, rank);
        const size_t element = bytes_of(dataType);
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, bytes_of_elements("sendCount", sendCount, dataType), true},
                                          {"recvBuf", recvBuf, received.extent("recvCounts and recvDispls", dataType)}};
        communicator->launch(
            operation_of(OperationKind::all_gather_v, dataType, Counts(static_cast<size_t>(size), sendCount), received.counts, buffers),
            stream, [=](Group& group) { all_gather(group, sendBuf, recvBuf, received, element); });
    });
}

extern "C" HcclResult HcclReduceScatterV(const void* sendBuf, const void* sendCounts, const void* sendDispls, const void* recvBuf,
                                         uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream) {
    return traced_on(comm, stream, __func__, call_arguments("dataType", name_of(dataType)), [&](const auto& communicator) {
        const int size = communicator->size(), rank = communicator->rank();
        const Layout sent{copy_of("sendCounts", sendCounts, size), copy_of("sendDispls", sendDispls, size)};
        require_own_count("recvCount", recvCount, "sendCounts", sent, rank);
        require_reduction(dataType, op);
        void* const out = const_cast<void*>(recvBuf);
        const std::vector<Buffer> buffers{{"sendBuf", sendBuf, sent.extent("sendCounts and sendDispls", dataType), true},
                                          {"recvBuf", recvBuf, bytes_of_elements("recvCount", recvCount, dataType)}};
        communicator->launch(
            operation_of(OperationKind::reduce_scatter_v, dataType, sent.counts, Counts(static_cast<size_t>(size), recvCount), buffers, op),
            stream, [=](Group& group) { reduce_scatter(group, sendBuf, sent, out, dataType, op, rank); });
    });
}
