// Strings for messages.
#pragma once

#include <sstream>
#include <string>

namespace torch_aclnn::host {

// Joins the pieces, each as a stream prints it.
template <class... Pieces>
std::string text(const Pieces&... pieces) {
    std::ostringstream out;
    (out << ... << pieces);
    return out.str();
}

}  // namespace torch_aclnn::host
