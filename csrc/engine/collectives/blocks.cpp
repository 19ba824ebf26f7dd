#include "engine/collectives/blocks.h"

#include <cstring>

#include "engine/collectives/tensors.h"
#include "engine/runtime/error/error.h"
#include "hccl/hccl_types.h"
#include "torch_compatibility.h"

namespace torch_aclnn::host {

static c10::intrusive_ptr<c10d::Work> receive(c10d::Backend& backend, const at::Tensor& block, int peer, BlockTag tag) {
    std::vector<at::Tensor> tensors{block};
    return backend.recv(tensors, peer, tag);
}

static c10::intrusive_ptr<c10d::Work> send(c10d::Backend& backend, const at::Tensor& block, int peer, BlockTag tag) {
    std::vector<at::Tensor> tensors{block};
    return backend.send(tensors, peer, tag);
}

// The neighbours come first, so that not all ranks turn to the same one at once.
static int peer_after(const c10d::Backend& backend, int step) {
    return (backend.getRank() + step) % backend.getSize();
}

// Removes the place in gloo's source, which stands in brackets in front, and the advice at the end.
static std::string without_decoration(std::string message) {
    const size_t place = message.find(".cc:"), end = message.find("] ");
    if (message[0] == '[' && place < end && end != std::string::npos) message.erase(0, end + 2);
    return message.substr(0, message.find(". This is typically"));
}

void throw_gloo_error(const std::exception& error) {
    const std::string message = without_decoration(error.what());
    const bool timeout = message.find("imed out") != std::string::npos || message.find("imeout") != std::string::npos;
    throw Error(timeout ? HCCL_E_TIMEOUT : HCCL_E_REMOTE, message);
}

Works start_exchange(c10d::Backend& backend, const Blocks& sent, const Blocks& received) {
    const int size = backend.getSize();
    Works works;
    with_gloo_errors([&] {
        // The receives come first, because the senders wait for them.
        for (int step = size - 1; step > 0; --step) {
            const int peer = peer_after(backend, step);
            const auto& block = received[static_cast<size_t>(peer)];
            if (block.numel() != 0) works.push_back(receive(backend, block, peer, block_tag));
        }
        for (int step = 1; step < size; ++step) {
            const int peer = peer_after(backend, step);
            const auto& block = sent[static_cast<size_t>(peer)];
            if (block.numel() != 0) works.push_back(send(backend, block, peer, block_tag));
        }
    });
    return works;
}

void wait_for(c10d::Backend& backend, const Works& works) {
    with_gloo_errors([&] {
        for (const auto& work : works) work->wait(timeout_of(backend));
    });
}

RecordExchange::RecordExchange(c10d::Backend& backend, size_t bytes) : bytes_(bytes), expected_(static_cast<size_t>(backend.getSize())) {
    for (int rank = 0; rank < backend.getSize(); ++rank) {
        received_.push_back(at::empty({static_cast<int64_t>(bytes)}, at::kByte));
        if (rank != backend.getRank()) expect(backend, rank);
    }
}

void RecordExchange::expect(c10d::Backend& backend, int peer) {
    const auto place = static_cast<size_t>(peer);
    expected_[place] = receive(backend, received_[place], peer, record_tag);
}

void RecordExchange::exchange(c10d::Backend& backend, const void* own, void* all) {
    const int size = backend.getSize();
    const at::Tensor record = bytes_at(own, bytes_);
    const auto place = [&](int rank) { return static_cast<char*>(all) + bytes_ * static_cast<size_t>(rank); };
    std::memcpy(place(backend.getRank()), own, bytes_);
    Works sent;
    with_gloo_errors([&] {
        for (int step = 1; step < size; ++step) sent.push_back(send(backend, record, peer_after(backend, step), record_tag));
    });
    for (int step = size - 1; step > 0; --step) take(backend, peer_after(backend, step), place(peer_after(backend, step)));
    wait_for(backend, sent);
}

void RecordExchange::take(c10d::Backend& backend, int peer, void* record) {
    wait_for(backend, {expected_[static_cast<size_t>(peer)]});
    std::memcpy(record, received_[static_cast<size_t>(peer)].const_data_ptr(), bytes_);
    with_gloo_errors([&] { expect(backend, peer); });
}

}  // namespace torch_aclnn::host
