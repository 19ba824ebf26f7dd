#include "engine/collectives/gloo_error.h"

#include "engine/runtime/error/error.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {
namespace {

// Removes the place in gloo's source, which stands in brackets in front, and the advice at the end.
std::string without_decoration(std::string message) {
    const size_t place = message.find(".cc:"), end = message.find("] ");
    if (message[0] == '[' && place < end && end != std::string::npos) message.erase(0, end + 2);
    return message.substr(0, message.find(". This is typically"));
}

}  // namespace

void throw_gloo_error(const std::exception& error) {
    const std::string message = without_decoration(error.what());
    const bool timeout = message.find("imed out") != std::string::npos || message.find("imeout") != std::string::npos;
    throw Error(timeout ? HCCL_E_TIMEOUT : HCCL_E_REMOTE, message);
}

}  // namespace torch_aclnn::host
