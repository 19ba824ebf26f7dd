// Where torch's C++ interface differs between the versions that the sources build against.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/function.h>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

namespace torch_aclnn {

// Returns how long an operation of a c10d::Backend may take. Before torch 2.8 a backend does not tell, and zero stands for its own limit.
std::chrono::milliseconds timeout_of(auto& backend) {
    if constexpr (requires { backend.getBackendOptions(); })
        return backend.getBackendOptions()->timeout;
    else
        return std::chrono::milliseconds::zero();
}

// Makes a node of autograd's graph, in the pointer that set_history() takes: a shared_ptr until torch 2.11.
template <class Node, class... Arguments>
auto make_node(Arguments&&... arguments) {
    if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, Node>)
        return c10::make_intrusive<Node>(std::forward<Arguments>(arguments)...);
    else
        return std::shared_ptr<Node>(new Node(std::forward<Arguments>(arguments)...), [](auto* node) { deleteNode(node); });
}

}  // namespace torch_aclnn
