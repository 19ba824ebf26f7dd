// What torch's operators do that costs time on an NPU, told to the observer of `torch-aclnn dryrun`: torch_aclnn/observation/operations.py.
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

using Observer = void (*)(const char* kind, const char* what, size_t bytes, const char* note);

static std::atomic<Observer> observer{nullptr};

// Operators whose results have a size that depends on values, for which the host waits.
constexpr std::array<std::string_view, 5> kSizedByValues{"aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
                                                         "aten::unique_consecutive"};
// Operators by which routers choose experts. torch_npu's queue launches them, which no line of Python does.
constexpr std::array<std::string_view, 4> kChoosing{"aten::topk", "npu::npu_moe_gating_top_k", "npu::npu_moe_gating_top_k_softmax",
                                                    "npu::npu_moe_gating_top_k_softmax_v2"};
// Operators such as copies, whose names do not tell what the program asks for.
constexpr std::array<std::string_view, 7> kNamesOfCopies{"aten::copy_", "aten::_to_copy",   "aten::to",   "aten::item",
                                                         "aten::cpu",   "aten::contiguous", "aten::clone"};

// The operators that this thread is in.
static thread_local struct {
    std::string outermost;
    int depth = 0;
} operators;

template <typename Names>
static bool is_one_of(std::string_view name, const Names& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Functions of autograd have names of their own, and call the operators that the program has asked for.
static bool is_operator(std::string_view name) {
    return name.find("::") != std::string_view::npos && name.rfind("autograd::", 0) != 0;
}

static bool is_on_npu(const at::Tensor& tensor) {
    return tensor.device().type() == at::kPrivateUse1;
}

static const char* note_of_integers(const at::Tensor& tensor) {
    return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/true) ? "integers" : "";
}

static std::string dtype_name(at::ScalarType type) {
    return std::string(c10::getDtypeNames(type).first);
}

// A tensor that wraps others is left out, because the operators on those are seen too.
static const at::Tensor* plain_tensor(c10::ArrayRef<const c10::IValue> inputs, size_t position) {
    if (position >= inputs.size() || !inputs[position].isTensor()) return nullptr;
    const at::Tensor& tensor = inputs[position].toTensor();
    const bool is_plain =
        tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_nested() && !tensor.key_set().has(c10::DispatchKey::Python);
    return is_plain ? &tensor : nullptr;
}

static void tell(const char* kind, const std::string& what, size_t bytes, const std::string& note) {
    if (const Observer function = observer.load()) function(kind, what.c_str(), bytes, note.c_str());
}

// Tells the observer of a cause, by the operator that the program has called, or by another name if that tells more.
static void tell_cause(const char* kind, const char* otherwise, size_t bytes, const std::string& note) {
    const bool says_more = !operators.outermost.empty() && !is_one_of(operators.outermost, kNamesOfCopies);
    tell(kind, says_more ? operators.outermost : otherwise, bytes, note);
}

static void observe_copy(const at::Tensor& target, const at::Tensor& source, bool asynchronous) {
    const std::string suffix = asynchronous ? "non_blocking" : "";
    const bool to_npu = is_on_npu(target), from_npu = is_on_npu(source);
    const at::ScalarType to = target.scalar_type(), from = source.scalar_type();
    if (from_npu && !to_npu) {
        const std::string kind = note_of_integers(source);
        tell_cause("reads", "copy to the CPU", source.nbytes(), kind + (kind.empty() || suffix.empty() ? "" : ", ") + suffix);
    } else if (to_npu && !from_npu) {
        tell_cause("uploads", "copy to the NPU", target.nbytes(), suffix);
    } else if (to_npu && to != from && (to == at::kDouble || from == at::kDouble)) {
        tell("float64", dtype_name(from) + " to " + dtype_name(to), target.nbytes(), "");
    } else if (to_npu && to == from && !(target.is_contiguous() && source.is_contiguous())) {
        tell_cause("strided", "copy", target.nbytes(), "");
    }
}

static void observe(std::string_view name, c10::ArrayRef<const c10::IValue> inputs) {
    const at::Tensor* first = plain_tensor(inputs, 0);
    if (first == nullptr) return;
    if (name == "aten::copy_") {
        if (const at::Tensor* source = plain_tensor(inputs, 1))
            observe_copy(*first, *source, inputs.size() > 2 && inputs[2].isBool() && inputs[2].toBool());
    } else if (name == "aten::_local_scalar_dense" && is_on_npu(*first)) {
        tell_cause("reads", "aten::item", first->nbytes(), note_of_integers(*first));
    } else if (is_one_of(name, kSizedByValues) && is_on_npu(*first)) {
        tell("reads", std::string(name), 0, "sizes depend on values");
    } else if (is_one_of(name, kChoosing) && is_on_npu(*first)) {
        tell("chooses", std::string(name), 0, "");
    }
}

static std::unique_ptr<at::ObserverContext> operator_begins(const at::RecordFunction& function) {
    const std::string_view name = function.name();
    if (!is_operator(name)) return nullptr;
    if (operators.depth++ == 0) operators.outermost = name;
    observe(name, function.inputs());
    return nullptr;
}

static void operator_ends(const at::RecordFunction& function, at::ObserverContext*) {
    if (is_operator(function.name())) --operators.depth;
}

// Has the observer called for each such operator, in the thread that calls the operator and before it runs. Null ends that.
extern "C" __attribute__((visibility("default"))) void torchAclnnHostObserveOperators(Observer function) noexcept {
    static at::CallbackHandle handle = 0;
    if (observer.exchange(function) != nullptr) at::removeCallback(handle);
    if (function == nullptr) return;
    handle = at::addGlobalCallback(
        at::RecordFunctionCallback(operator_begins, operator_ends).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}
