// The table of the operators that can be called by name.

#include <mutex>

#include "engine/runtime/lasting.h"
#include "engine/runtime/operator_by_name/operator_call.h"
#include "torch_aclnn/named_operators.h"

namespace torch_aclnn::host {
namespace {

struct Table {
    std::mutex mutex;
    std::map<std::string, const NamedOperator*> operators;
};

constexpr auto& table = lasting<Table>;

}  // namespace

NamedOperator::NamedOperator(const char* name, Body body) : name_(name), body_(std::move(body)) {
    std::lock_guard<std::mutex> lock(table().mutex);
    table().operators[name] = this;
}

NamedOperator::~NamedOperator() {
    std::lock_guard<std::mutex> lock(table().mutex);
    const auto found = table().operators.find(name_);
    if (found != table().operators.end() && found->second == this) table().operators.erase(found);
}

const NamedOperator* NamedOperator::find(const std::string& name) {
    std::lock_guard<std::mutex> lock(table().mutex);
    const auto found = table().operators.find(name);
    return found != table().operators.end() ? found->second : nullptr;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

size_t torchAclnnHostNamedOperators(const char** names, size_t capacity) {
    std::lock_guard<std::mutex> lock(table().mutex);
    size_t i = 0;
    for (const auto& [name, named] : table().operators) {
        if (names != nullptr && i < capacity) names[i] = named->name();
        ++i;
    }
    return i;
}
