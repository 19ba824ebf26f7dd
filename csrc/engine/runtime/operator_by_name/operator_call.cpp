// Calls of operators by name. CANN compiles them at run time; the engine looks them up in a table (named_operators.cpp) and fails the work
// with the operator's name if it is not there.

#include "engine/runtime/operator_by_name/operator_call.h"

#include <deque>

#include "acl/acl_op_compiler.h"
#include "engine/runtime/data_type.h"
#include "engine/runtime/diagnostics/coverage.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_use.h"
#include "engine/runtime/stream/computing_thread.h"
#include "engine/runtime/stream/overflow.h"
#include "engine/runtime/stream/task.h"

using namespace torch_aclnn::host;

namespace {

// Fails when it runs: the error goes to the stream, like the failure of any work, and is reported at the next synchronisation. An error of
// the call itself would end torch_npu's task queue: it raises once and from then on drops all work in silence.
class MissingOperator final : public NamedTask {
   public:
    MissingOperator(const char* function, std::string message) : NamedTask(function), message_(std::move(message)) {}

    void run() override { throw Error(ACL_ERROR_API_NOT_SUPPORT, message_); }

   private:
    std::string message_;
};

std::vector<MemoryAccess> accesses_of(const OperatorCall& call) {
    std::vector<MemoryAccess> accesses;
    for (const CallTensor& input : call.inputs)
        if (!input.on_host && input.bytes > 0) accesses.push_back({"input", input.data, input.bytes, false});
    for (const CallTensor& output : call.outputs)
        if (output.bytes > 0) accesses.push_back({"output", output.data, output.bytes, true});
    return accesses;
}

// The memory of the call cannot be freed while it is used; what was freed since the launch is an error.
void keep_memory(const char* kind, const std::vector<CallTensor>& tensors, std::deque<MemoryUse>& uses) {
    for (size_t i = 0; i < tensors.size(); ++i) {
        const CallTensor& tensor = tensors[i];
        if (tensor.on_host || tensor.bytes == 0) continue;
        uses.emplace_back(tensor.data, tensor.bytes);
        const auto memory = device_memory_at(tensor.data, tensor.bytes);
        if (!memory || memory->reach < tensor.bytes)
            refuse(ACL_ERROR_RT_AICORE_EXCEPTION, text(kind, " ", i), text("device memory of ", tensor.bytes, " bytes"),
                   "memory that was freed after the launch");
    }
}

void add_operands(std::vector<Operand>& operands, std::vector<CallTensor>& tensors, bool is_written) {
    for (CallTensor& tensor : tensors) {
        if (!tensor.is_given()) continue;
        const auto count = static_cast<int64_t>(tensor.bytes / aclDataTypeSize(tensor.type));
        operands.push_back({tensor.type, host_view(tensor.memory()), {count}, {1}, !is_written, is_written});
    }
}

std::vector<Operand> operands_of(OperatorCall& call) {
    std::vector<Operand> operands;
    add_operands(operands, call.inputs, false);
    add_operands(operands, call.outputs, true);
    return operands;
}

int64_t element_count_of(const OperatorCall& call) {
    size_t elements = 0;
    for (const auto* tensors : {&call.inputs, &call.outputs})
        for (const CallTensor& tensor : *tensors)
            if (tensor.is_given()) elements += tensor.bytes / aclDataTypeSize(tensor.type);
    return static_cast<int64_t>(elements);
}

class NamedOperatorTask final : public NamedTask {
   public:
    NamedOperatorTask(const NamedOperator& named, std::shared_ptr<OperatorCall> call)
        : NamedTask(named.name()), named_(named), call_(std::move(call)) {}

    std::vector<MemoryAccess> accesses() const override { return accesses_of(*call_); }
    void run() override {
        std::deque<MemoryUse> uses;
        if (runs_later()) {
            keep_memory("input", call_->inputs, uses);
            keep_memory("output", call_->outputs, uses);
        }
        std::optional<OverflowCheck> overflow;
        if (has_overflow_register()) overflow.emplace(operands_of(*call_));
        compute_in_parallel(element_count_of(*call_), [&] { named_.run(*call_); });
        if (overflow) overflow->finish();
    }

   private:
    const NamedOperator& named_;
    std::shared_ptr<OperatorCall> call_;
};

// Returns the bytes that the description asks for; 100000 if they cannot be counted.
size_t bytes_of(const std::string& parameter, const aclTensorDesc& desc) {
    size_t bytes = aclDataTypeSize(desc.type);
    if (bytes == 0) refuse(ACL_ERROR_INVALID_PARAM, parameter, "a data type with a size", std::to_string(desc.type));
    for (const int64_t dim : desc.dims) {
        if (dim < 0) refuse(ACL_ERROR_INVALID_PARAM, parameter, "no negative dimension", std::to_string(dim));
        if (dim == 0) return 0;
    }
    for (const int64_t dim : desc.dims)
        if (__builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes))
            refuse(ACL_ERROR_INVALID_PARAM, parameter, "a number of bytes that can be counted", "dimensions beyond that");
    return bytes;
}

void require_memory(const std::string& parameter, const CallTensor& tensor) {
    const auto memory = device_memory_at(tensor.data, tensor.bytes);
    if (!memory) refuse(ACL_ERROR_INVALID_PARAM, parameter, "device memory", describe_missing_memory(tensor.data));
    if (memory->reach < tensor.bytes)
        refuse(ACL_ERROR_INVALID_PARAM, parameter, text("device memory of ", tensor.bytes, " bytes"), text(memory->reach));
}

CallTensor read_tensor(const std::string& parameter, const aclTensorDesc* desc, const aclDataBuffer* buffer) {
    require_pointer(parameter.c_str(), desc);
    require_pointer(parameter.c_str(), buffer);
    CallTensor tensor{*desc, nullptr, 0, {}};
    if (!tensor.is_given()) return tensor;
    tensor.bytes = bytes_of(parameter, *desc);
    tensor.data = buffer->data;
    if (buffer->size < tensor.bytes)
        refuse(ACL_ERROR_INVALID_PARAM, parameter, text("a buffer of ", tensor.bytes, " bytes"), text(buffer->size));
    if (tensor.bytes == 0) return tensor;
    require_pointer(parameter.c_str(), tensor.data);
    if (!tensor.on_host) {
        require_memory(parameter, tensor);
    } else {
        const auto* bytes = static_cast<const unsigned char*>(tensor.data);
        tensor.host_copy.assign(bytes, bytes + tensor.bytes);
    }
    return tensor;
}

std::vector<CallTensor> read_tensors(const char* kind, int count, const aclTensorDesc* const* descs, const aclDataBuffer* const* buffers) {
    if (count < 0) refuse(ACL_ERROR_INVALID_PARAM, text("the number of ", kind, "s"), "at least 0", std::to_string(count));
    if (count > 0) require_pointer(text(kind, "Desc").c_str(), descs);
    if (count > 0) require_pointer(text(kind, "s").c_str(), buffers);
    std::vector<CallTensor> tensors;
    for (int i = 0; i < count; ++i) tensors.push_back(read_tensor(text(kind, " ", i), descs[i], buffers[i]));
    return tensors;
}

// The arguments of both functions.
struct Arguments {
    const char* opType;
    int numInputs;
    const aclTensorDesc* const* inputDesc;
    const aclDataBuffer* const* inputs;
    int numOutputs;
    const aclTensorDesc* const* outputDesc;
    const aclDataBuffer* const* outputs;
    const aclopAttr* attr;
    aclrtStream stream;
};

// Says for which call there is no operator, by its attributes and tensors.
std::string describe_missing(const Arguments& given) {
    std::string of_call;
    const auto add = [&](const std::string& part) { of_call += (of_call.empty() ? "" : ", ") + part; };
    const auto add_tensors = [&](const char* prefix, int count, const aclTensorDesc* const* descs) {
        for (int i = 0; descs != nullptr && i < count; ++i) {
            if (descs[i] == nullptr || descs[i]->type == ACL_DT_UNDEFINED) continue;
            std::string dims;
            for (const int64_t dim : descs[i]->dims) dims += text(dims.empty() ? "" : ", ", dim);
            add(text(prefix, i, ": {", dims, "} of ", to_string(descs[i]->type)));
        }
    };
    add_tensors("x", given.numInputs, given.inputDesc);
    if (given.attr != nullptr)
        for (const auto& [name, value] : given.attr->values) add(name);
    add_tensors("y", given.numOutputs, given.outputDesc);
    return text("operator ", given.opType, " has no entry point in the torch_aclnn host engine and cannot be compiled for it; ",
                is_jit_compile_on() ? "torch_npu.npu.set_compile_mode(jit_compile=False) has entry points called instead; " : "",
                "the call had ", of_call);
}

void enqueue_missing_operator(const char* function, const Arguments& given) {
    std::string message = describe_missing(given);
    if (auto* const calls = coverage_counter(CoverageKind::refused_operator, given.opType)) calls->fetch_add(1, std::memory_order_relaxed);
    auto missing = std::make_unique<MissingOperator>(function, std::move(message));
    enqueue(given.stream, *missing);
    (void)missing.release();  // the stream deletes it
}

// Returns null if there is no operator of that name.
std::shared_ptr<OperatorCall> make_call(const char* function, const Arguments& given, auto enqueue_task) {
    require_pointer("opType", given.opType);
    const NamedOperator* const named = NamedOperator::find(given.opType);
    if (named == nullptr) {
        enqueue_missing_operator(function, given);
        return nullptr;
    }
    const auto call = std::make_shared<OperatorCall>();
    call->inputs = read_tensors("input", given.numInputs, given.inputDesc, given.inputs);
    call->outputs = read_tensors("output", given.numOutputs, given.outputDesc, given.outputs);
    if (given.attr != nullptr) call->attributes = given.attr->values;
    auto task = std::make_unique<NamedOperatorTask>(*named, call);
    enqueue_task(given.stream, *task);
    (void)task.release();  // the stream deletes it
    return call;
}

}  // namespace

extern "C" {

TORCH_ACLNN_HOST_API aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                                     const aclDataBuffer* const inputs[], int numOutputs,
                                                     const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                                     const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*,
                                                     aclrtStream stream) {
    return guarded(__func__, [&] {
        make_call("aclopCompileAndExecute", {opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream}, enqueue);
    });
}

// Waits, and writes the shapes that the outputs have got into their descriptions.
TORCH_ACLNN_HOST_API aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                                       aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                                                       aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType, aclopCompileType,
                                                       const char*, aclrtStream stream) {
    return guarded(__func__, [&] {
        const auto call =
            make_call("aclopCompileAndExecuteV2", {opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream},
                      enqueue_and_wait);
        if (call == nullptr) return;
        for (size_t i = 0; i < call->outputs.size(); ++i) outputDesc[i]->dims = call->outputs[i].dims;
    });
}

}  // extern "C"
