#include "host/opapi/executor.h"

#include "aclnn/aclnn_base.h"

namespace torch_aclnn::host {
namespace {

std::vector<std::optional<aclTensor>> copies(std::initializer_list<const aclTensor*> tensors) {
    std::vector<std::optional<aclTensor>> result(tensors.size());
    auto copy = result.begin();
    for (const aclTensor* tensor : tensors) {
        if (tensor != nullptr) copy->emplace(*tensor);
        ++copy;
    }
    return result;
}

std::string named(const char* entry_point, const std::string& sentence) {
    return std::string(entry_point) + ": " + sentence;
}

// The tensor among `groups`, taken as one list, that `index` counts to; null if there is none.
aclTensor* find(std::initializer_list<std::vector<std::optional<aclTensor>>*> groups, size_t index) {
    for (auto* group : groups) {
        if (index < group->size()) return (*group)[index] ? &*(*group)[index] : nullptr;
        index -= group->size();
    }
    return nullptr;
}

aclnnStatus set_address(const char* function, aclOpExecutor* executor, aclTensor* argument, size_t index, aclTensor* tensor, void* addr) {
    if (executor == nullptr || tensor == nullptr || addr == nullptr)
        return fail(ACLNN_ERR_PARAM_NULLPTR, named(function, "executor, tensor and addr: expected values, got null"));
    if (argument == nullptr)
        return fail(ACLNN_ERR_PARAM_INVALID, named(function, "index: expected an argument of " + std::string(executor->entry_point) +
                                                                 ", got " + std::to_string(index)));
    argument->data = tensor->data = addr;
    return ACLNN_SUCCESS;
}

}  // namespace

void refuse(const std::string& parameter, const std::string& expected, const std::string& got) {
    throw Refusal(ACLNN_ERR_PARAM_INVALID, parameter + ": expected " + expected + ", got " + got);
}

aclnnStatus run_phase1(const char* entry_point, uint64_t* workspace_size, aclOpExecutor** executor, Phase1Body body) noexcept {
    try {
        if (workspace_size == nullptr || executor == nullptr)
            return fail(ACLNN_ERR_PARAM_NULLPTR,
                        named(entry_point, "workspaceSize and executor: expected places for the results, got null"));
        *executor = body.call(body.closure).release();
        *workspace_size = 0;
        return ACLNN_SUCCESS;
    } catch (const Refusal& refusal) {
        return fail(refusal.code(), named(entry_point, refusal.what()));
    } catch (const std::exception& error) {
        return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, named(entry_point, error.what()));
    }
}

aclnnStatus run_phase2(const char* entry_point, CallCounter& counter, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                       aclrtStream stream) noexcept {
    if (executor == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, named(entry_point, "executor: expected the one of phase 1, got null"));
    if (workspace == nullptr && workspace_size > 0)
        return fail(ACLNN_ERR_PARAM_NULLPTR,
                    named(entry_point, "workspace: expected " + std::to_string(workspace_size) + " bytes, got null"));
    counter.add();
    // On an error the executor has not been taken, but phase 2 consumes it all the same; enqueue has left the sentence.
    if (enqueue(stream, *executor) == ACL_SUCCESS) return ACLNN_SUCCESS;
    executor->finish();
    return ACLNN_ERR_RUNTIME_ERROR;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

aclOpExecutor::aclOpExecutor(const char* entry_point, std::initializer_list<const aclTensor*> inputs,
                             std::initializer_list<const aclTensor*> outputs, Compute compute)
    : entry_point(entry_point), inputs(copies(inputs)), outputs(copies(outputs)), compute(std::move(compute)) {}

aclOpExecutor::~aclOpExecutor() = default;

void aclOpExecutor::finish() noexcept {
    if (!repeatable) delete this;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
    if (executor == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "aclSetAclOpExecutorRepeatable: executor: expected one, got null");
    executor->repeatable = true;
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
    delete executor;
    return ACLNN_SUCCESS;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address("aclSetInputTensorAddr", executor, executor ? find({&executor->inputs}, index) : nullptr, index, tensor, addr);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    return set_address("aclSetOutputTensorAddr", executor, executor ? find({&executor->outputs}, index) : nullptr, index, tensor, addr);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor, void* addr) {
    aclTensor* argument = executor ? find({&executor->inputs, &executor->outputs}, index) : nullptr;
    return set_address("aclSetTensorAddr", executor, argument, index, tensor, addr);
}

aclnnStatus aclnnInit(const char*) {
    return ACLNN_SUCCESS;
}
aclnnStatus aclnnFinalize() {
    return ACLNN_SUCCESS;
}
