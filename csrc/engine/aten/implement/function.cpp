#include "engine/aten/implement/function.h"

#include <array>
#include <regex>
#include <shared_mutex>

namespace torch_aclnn::host::aten {
namespace {

// Shared by calls that are under way. A call may make another on the same thread, which the writer must not come between: glibc's lock lets
// readers go first.
std::shared_mutex& under_way() {
    static auto* const once = new std::shared_mutex;
    return *once;
}

const char* required(const char* parameter, const char* text) {
    if (text == nullptr) refuse(ACL_ERROR_INVALID_PARAM, parameter, "a text", "null");
    return text;
}

std::string checked_name(const char* name) {
    static const std::regex kName(R"([A-Za-z]\w{0,99})");
    if (!std::regex_match(required("name", name), kName))
        refuse(ACL_ERROR_INVALID_PARAM, "name", "the name of an entry point, as aclnnX, or of an operator", '"' + std::string(name) + '"');
    return name;
}

}  // namespace

bool is_entry_point(const std::string& name) {
    static const std::regex kEntryPoint(R"(acl(nn)?[A-Z]\w*)");
    return std::regex_match(name, kEntryPoint);
}

ImplementedFunction::ImplementedFunction(const torchAclnnImplementation& given)
    : name_(checked_name(given.name)),
      parameters_(parse_signature(required("signature", given.signature), !is_entry_point(name_))),
      function_(given.function),
      context_(given.context) {
    if (function_ == nullptr) refuse(ACL_ERROR_INVALID_PARAM, "function", "a function", "null");
}

void ImplementedFunction::require_callable() const {
    if (const std::string* const reason = why_stopped_.load(std::memory_order_acquire))
        throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, "the function that implements " + name_ + " cannot be called: " + *reason);
}

void ImplementedFunction::call(const std::vector<ShownValue>& shown) const {
    const std::shared_lock lock(under_way());
    require_callable();
    std::vector<torchAclnnValue> values;
    for (size_t i = 0; i < shown.size(); ++i) values.push_back(shown[i].value(parameters_[i].name.c_str()));
    std::array<char, 2048> message{};
    if (function_(context_, values.data(), static_cast<int64_t>(values.size()), message.data(), message.size()) == 0) return;
    message.back() = '\0';
    throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, message[0] != '\0' ? message.data() : "the function that implements it gives no reason");
}

void ImplementedFunction::stop(const char* reason) {
    const auto* const kept = new std::string(reason != nullptr ? reason : "it was stopped");  // calls may read it at any time
    const std::unique_lock lock(under_way());
    why_stopped_.store(kept, std::memory_order_release);
}

}  // namespace torch_aclnn::host::aten
