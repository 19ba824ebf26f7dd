// Blocks of memory that the ranks of a c10d::Backend give each other: straight from place to place, as Gloo's messages, which pass neither
// through the thread that Gloo has for collectives nor through copies of its own.
#pragma once

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {

// Gloo's errors have no codes, only texts: throws an Error, of an HcclResult, with what it says.
[[noreturn]] void throw_gloo_error(const std::exception& error);

auto with_gloo_errors(auto&& body) {
    try {
        return body();
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw_gloo_error(error);
    }
}

// There is one block for each rank, in their order. An empty block is not sent.
using Blocks = std::vector<at::Tensor>;
using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

// Messages of one tag arrive in the order in which they were sent. Those of Messages have tags of their own.
enum BlockTag : int { block_tag = 2, record_tag = 3, answer_tag = 4 };

// Begins to give each other rank its block of `sent`, and to take into `received` what it gives; this rank's own blocks are left alone. All
// ranks begin their exchanges in the same order.
Works start_exchange(c10d::Backend& backend, const Blocks& sent, const Blocks& received);
// Waits for all of them, each as long as an operation may take; a message would take the timeout that the backend was connected with.
// Throws an Error of an HcclResult.
void wait_for(c10d::Backend& backend, const Works& works);

// Gives each other rank the same small record, and takes theirs. The places are known beforehand, so that a record is sent at once and not
// only when its receiver has asked for it.
class RecordExchange {
   public:
    RecordExchange(c10d::Backend& backend, size_t bytes);
    // `all` has a record for each rank.
    void exchange(c10d::Backend& backend, const void* own, void* all);
    // Receives the record of a rank to which this one sends none.
    void take(c10d::Backend& backend, int peer, void* record);

   private:
    void expect(c10d::Backend& backend, int peer);

    const size_t bytes_;
    Blocks received_;
    Works expected_;
};

}  // namespace torch_aclnn::host
