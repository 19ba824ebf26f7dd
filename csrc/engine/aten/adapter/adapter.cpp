#include "engine/aten/adapter/adapter.h"

#include <ATen/Parallel.h>
#include <ATen/core/Formatting.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cmath>
#include <unordered_map>

#include "engine/aten/adapter/aten_errors.h"
#include "engine/aten/numerics/indices.h"
#include "engine/aten/numerics/temporaries.h"
#include "engine/opapi/executor_cache.h"
#include "engine/runtime/stream/computing_thread.h"

namespace torch_aclnn::host::aten {
namespace {

// All dispatch keys above a backend kernel. Inline streams run on the user's thread, where any of them may be active.
const c10::DispatchKeySet kAboveBackend =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset | c10::python_ks |
    c10::DispatchKeySet({c10::DispatchKey::Functionalize, c10::DispatchKey::FuncTorchBatched,
                         c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                         c10::DispatchKey::PreDispatch});

// The values of a call's arguments, one behind the other in one piece of memory.
class Values {
   public:
    explicit Values(const Adapter& adapter) : adapter_(adapter) {
        const size_t size = adapter.offsets[adapter.count];
        if (size > inline_.size()) memory_.reset(new char[size]);
    }
    Values(const Values&) = delete;
    ~Values() {
        while (count_ > 0) {
            --count_;
            adapter_.kinds[count_]->destroy(at(count_));
        }
    }

    void read(const void* const* arguments) {
        for (; count_ < adapter_.count; ++count_)
            adapter_.kinds[count_]->read(adapter_.entry.parameter(count_), arguments[count_], at(count_));
    }
    char* all() { return memory_ ? memory_.get() : inline_.data(); }
    void* at(size_t i) { return all() + adapter_.offsets[i]; }

    bool has_input_as_output = false;  // whether an output is an input with the same memory and shape

   private:
    const Adapter& adapter_;
    alignas(kValueAlignment) std::array<char, 512> inline_;  // enough for most
    std::unique_ptr<char[]> memory_;
    size_t count_ = 0;  // how many arguments have been read
};

// The tensors of an argument: one, the members of a list, or none.
class TensorsOf {
   public:
    TensorsOf(const ErasedKind& kind, const void* argument) {
        if (kind.handle == ErasedKind::Handle::tensor)
            one_ = *static_cast<const aclTensor* const*>(argument);
        else if (kind.handle == ErasedKind::Handle::tensors)
            list_ = *static_cast<const aclTensorList* const*>(argument);
    }
    size_t size() const { return list_ != nullptr ? list_->members.size() : one_ != nullptr; }
    const aclTensor& operator[](size_t i) const { return list_ != nullptr ? *list_->members[i] : *one_; }

   private:
    const aclTensor* one_ = nullptr;
    const aclTensorList* list_ = nullptr;
};

// The place of a type in the order of conversions of torch.can_cast: bool, integers, floating-point numbers, complex numbers.
int category(aclDataType type) {
    constexpr DTypes kFloats = FLOATING | DOUBLE | EIGHT_BIT_FLOATS | ANY_FEW_BITS;
    return COMPLEX.has(type) ? 3 : kFloats.has(type) ? 2 : BOOL.has(type) ? 0 : 1;
}

void for_each_tensor(const Adapter& adapter, const void* const* arguments, const auto& visit) {
    for (size_t i = 0; i < adapter.count; ++i) {
        const TensorsOf tensors(*adapter.kinds[i], arguments[i]);
        for (size_t member = 0; member < tensors.size(); ++member) visit(i, member, tensors[member]);
    }
}

// Refuses a data type that is neither listed, for this product, nor the one of the tensor that the record refers to.
void refuse_unless_stated(const Adapter& adapter, const void* const* arguments, size_t i, size_t member) {
    const TensorsOf tensors(*adapter.kinds[i], arguments[i]);
    const Named tensor{adapter.entry.parameter(i), &tensors[member]};
    const DTypes listed = DTypes::of_bits(adapter.entry.parameter_types(i));
    const int8_t same_as = adapter.types[i].same_as;
    if (same_as < 0) return require_dtype(tensor, listed);
    const TensorsOf others(*adapter.kinds[same_as], arguments[same_as]);
    if (others.size() > 0 && !listed.has(tensor.tensor->dtype))
        require_same_dtype(tensor, {adapter.entry.parameter(same_as), &others[others.size() == tensors.size() ? member : 0]});
}

// Refuses results of a data type to which those of the operands do not convert.
void refuse_unless_convertible(const Adapter& adapter, const void* const* arguments) {
    std::optional<aclDataType> operands;
    for_each_tensor(adapter, arguments, [&](size_t i, size_t, const aclTensor& tensor) {
        if (adapter.types[i].is_operand && (!operands || category(*operands) < category(tensor.dtype))) operands = tensor.dtype;
    });
    for_each_tensor(adapter, arguments, [&](size_t i, size_t, const aclTensor& tensor) {
        if (!adapter.types[i].is_result || !operands || category(tensor.dtype) >= category(*operands)) return;
        const char* const name = adapter.entry.parameter(i);
        refuse(name, "a data type that " + to_string(*operands) + " converts to",
               c10::str(to_string(tensor.dtype), ": result type ", scalar_type(name, *operands),
                        " can't be cast to the desired output type ", scalar_type(name, tensor.dtype)));
    });
}

// Checks dimensions against the rank of the first tensor.
void require_dims(const Adapter& adapter, const void* const* arguments) {
    size_t first = 0;
    while (first < adapter.count && !adapter.kinds[first]->is_tensors()) ++first;
    uint64_t rank = kMaxRank;
    if (first < adapter.count)
        if (const TensorsOf tensors(*adapter.kinds[first], arguments[first]); tensors.size() > 0) rank = tensors[0].rank();
    for (size_t i = 0; i < adapter.count; ++i)
        if (const auto require = adapter.kinds[i]->require_dims) require(adapter.entry.parameter(i), arguments[i], rank);
}

// Checks the data types against the record (TensorTypes), and the dimensions. Every call does this, so the usual case takes set operations
// alone: listed data types that all products have, and results of the one data type of all operands.
void require_dtypes_and_dims(const Adapter& adapter, const void* const* arguments) {
    DTypes converted = NO_DTYPE;
    bool has_dims = false;
    for (size_t i = 0; i < adapter.count; ++i) {
        const ErasedKind& kind = *adapter.kinds[i];
        has_dims |= kind.require_dims != nullptr;
        if (!kind.is_tensors()) continue;
        const DTypes listed = DTypes::of_bits(adapter.entry.parameter_types(i)).without(BF16 | OF_950);
        const bool is_converted = adapter.types[i].is_operand || adapter.types[i].is_result;
        const TensorsOf tensors(kind, arguments[i]);
        for (size_t member = 0, count = tensors.size(); member < count; ++member) {
            const aclDataType type = tensors[member].dtype;
            if (!listed.has(type)) refuse_unless_stated(adapter, arguments, i, member);
            if (is_converted) converted = converted | DTypes(type);
        }
    }
    if ((converted.bits() & (converted.bits() - 1)) != 0) refuse_unless_convertible(adapter, arguments);
    if (has_dims) require_dims(adapter, arguments);
}

// Makes torch set the number of computing threads, which it does at the first use in a thread.
void begin_computing() {
    thread_local const int threads = at::get_num_threads();
    (void)threads;
    OneThread::renew();
}

struct Silence : c10::WarningHandler {
    void process(const c10::Warning&) override {}
};

// A call with more elements is tried with tensors whose dimensions are at most so long.
constexpr int64_t kTriedElements = 1 << 14, kShortDimension = 4;

// Has the body compute the same with tensors of its own, which are full of zeros.
void try_body(const Adapter& adapter, const void* const* arguments) {
    Values values(adapter);
    values.read(arguments);
    const auto visit = [&](const std::function<void(at::Tensor&)>& visitor) {
        for (size_t i = 0; i < adapter.count; ++i)
            if (adapter.kinds[i]->is_tensors() && !adapter.kinds[i]->visit_tensors(values.at(i), visitor)) return false;
        return true;
    };
    int64_t elements = 0;
    const bool is_known = visit([&](at::Tensor& tensor) { elements += std::min(tensor.numel(), kTriedElements + 1); });
    if (!is_known) return;
    visit([&](at::Tensor& tensor) {
        at::DimVector sizes(tensor.sizes());
        for (int64_t& size : sizes) size = elements > kTriedElements ? std::min(size, kShortDimension) : size;
        tensor = at::zeros(sizes, tensor.options());
    });
    begin_computing();
    const c10::impl::ExcludeDispatchKeyGuard guard(kAboveBackend);
    Silence silence;
    const c10::WarningUtils::WarningHandlerGuard warnings(&silence);
    try {
        adapter.check(adapter, values.all());
    } catch (const Error&) {
        return;  // short dimensions need not fit the arguments
    }
    adapter.body(adapter, values.all());
}

// ATen throws where a number does not fit into a type, and does not say which number it is; the largest one, or a complex one, is refused.
void refuse_scalar(const Adapter& adapter, const void* const* arguments) {
    const char* name = nullptr;
    double most = -1;
    at::Scalar number;
    for (size_t i = 0; i < adapter.count; ++i) {
        const auto* const handle =
            adapter.kinds[i]->handle == ErasedKind::Handle::scalar ? *static_cast<const aclScalar* const*>(arguments[i]) : nullptr;
        if (handle == nullptr) continue;
        const at::Scalar other = read_scalar(adapter.entry.parameter(i), handle);
        const double size = other.isComplex() || std::isnan(other.toDouble()) ? INFINITY : std::abs(other.toDouble());
        if (size <= most) continue;
        name = adapter.entry.parameter(i);
        most = size;
        number = other;
    }
    if (name == nullptr) return;
    const std::string got =
        number.type() == at::kUInt64 ? c10::str(number.to<uint64_t>()) : c10::str(number);  // c10::str goes through int64_t
    refuse(name, "a real number that fits into the type that it is taken as", got);
}

// Refuses data types that the body does not compute, which is tried the first time that the entry point comes with them.
void require_computable(const Adapter& adapter, const void* const* arguments, const aclOpExecutor& executor, char* values) {
    if (executor.launch) return;  // a trial cannot run where ranks wait for each other
    const uint64_t types = adapter.type_signature(values) ^ reinterpret_cast<uintptr_t>(&adapter);
    const uint64_t signature = (types ^ types >> 32) | 1;  // never 0
    if (is_known(signature)) return;
    const auto names = [&] {
        std::string names;
        for (size_t i = 0; i < adapter.count; ++i)
            if (adapter.kinds[i]->is_tensors() && *static_cast<const void* const*>(arguments[i]) != nullptr)
                names += (names.empty() ? "" : ", ") + std::string(adapter.entry.parameter(i));
        return names;
    };
    const OneThread here;
    try_types(names, [&] { refuse_scalar(adapter, arguments); }, [&] { try_body(adapter, arguments); });
    remember(signature);
}

// Turns an error of ATen about values that a body has read into a refusal that names the parameters.
void explain(const Adapter& adapter, Values& values, const Error& error) {
    const std::string_view text = error.what();
    const bool is_zero = text == "ZeroDivisionError",
               is_position = text.find("out of range") != text.npos || text.find("bounds") != text.npos;
    std::string whole;  // names of the parameters that may be positions
    for (size_t i = 0; i < adapter.count && (is_zero || is_position); ++i) {
        const char* const parameter = adapter.entry.parameter(i);
        const std::string_view name = parameter;
        if (is_zero && name == "other") {
            (void)adapter.kinds[i]->visit_tensors(values.at(i), [&](at::Tensor& other) { require_nonzero(parameter, other); });
            refuse(ACL_ERROR_RT_AICORE_EXCEPTION, parameter, "values other than 0", "0");
        }
        if (is_position && (name == "index" || name == "indices" || name == "target"))
            refuse(ACL_ERROR_RT_AICORE_EXCEPTION, parameter, "positions that there are", std::string(text));
        bool is_whole = false;
        if (is_position && adapter.kinds[i]->is_tensors() && !adapter.kinds[i]->is_written)
            (void)adapter.kinds[i]->visit_tensors(values.at(i),
                                                  [&](at::Tensor& tensor) { is_whole |= at::isIntegralType(tensor.scalar_type(), false); });
        if (is_whole) whole += (whole.empty() ? "" : ", ") + std::string(name);
    }
    if (!whole.empty()) refuse(ACL_ERROR_RT_AICORE_EXCEPTION, whole, "positions that there are", std::string(text));
}

// Copies inputs that are outputs too, because a body may read an input after it has written the output. Element-wise operators only read
// the elements that they write, and in lists the members at the same position.
class InputsApart {
   public:
    InputsApart(const Adapter& adapter, Values& values) {
        const bool is_of_elements = adapter.entry.family() == std::string_view("pointwise");
        std::unordered_map<const void*, size_t> outputs;  // the address of each, and its place in a list
        visit(adapter, values, true, [&](at::Tensor& tensor, size_t i) { outputs.emplace(tensor.const_data_ptr(), i); });
        visit(adapter, values, false, [&](at::Tensor& tensor, size_t i) {
            const auto found = outputs.find(tensor.const_data_ptr());
            if (found == outputs.end() || (is_of_elements && found->second == i)) return;
            if (tensor.numel() == 0 || (adapter.starts_from >= 0 && &tensor == values.at(adapter.starts_from))) return;
            given_.emplace_back(&tensor, tensor);
            tensor = tensor.clone();
        });
    }
    InputsApart(const InputsApart&) = delete;
    ~InputsApart() {
        for (auto& [place, tensor] : given_) *place = std::move(tensor);
    }

   private:
    static void visit(const Adapter& adapter, Values& values, bool is_written, const auto& visitor) {
        for (size_t i = 0; i < adapter.count; ++i) {
            if (!adapter.kinds[i]->is_tensors() || adapter.kinds[i]->is_written != is_written) continue;
            size_t member = 0;
            (void)adapter.kinds[i]->visit_tensors(values.at(i), [&](at::Tensor& tensor) { visitor(tensor, member++); });
        }
    }

    std::vector<std::pair<at::Tensor*, at::Tensor>> given_;
};

void add_outputs(ResultsTakeOutputs& outputs, const Adapter& adapter, Values& values) {
    size_t bytes = 0;
    for (size_t i = 0; i < adapter.count; ++i)
        if (const at::Tensor* const input = adapter.kinds[i]->input(values.at(i))) bytes += input->nbytes();
    for (size_t i = 0; i < adapter.count; ++i)
        if (const at::Tensor* const output = adapter.kinds[i]->output(values.at(i))) outputs.add(*output, {&adapter, i, bytes});
}

void run_body(const Adapter& adapter, Values& values) {
    try {
        run_plainly([&] {
            std::optional<InputsApart> apart;
            ResultsTakeOutputs outputs;
            if (values.has_input_as_output)
                apart.emplace(adapter, values);
            else if (adapter.computes_first)
                add_outputs(outputs, adapter, values);
            adapter.body(adapter, values.all());
        });
    } catch (const Error& error) {
        run_plainly([&] { explain(adapter, values, error); });
        throw;
    }
}

std::unique_ptr<aclOpExecutor> executor_of(const Adapter& adapter, const void* const* arguments, std::shared_ptr<Values> values) {
    auto made = std::make_unique<aclOpExecutor>(adapter.entry.name(), aclOpExecutor::Compute());
    made->watched.reserve(adapter.count);
    for (size_t i = 0; i < adapter.count; ++i) {
        const ErasedKind& kind = *adapter.kinds[i];
        if (kind.watch != nullptr) kind.watch(*made, adapter.entry.parameter(i), arguments[i]);
        if (kind.set_launch != nullptr) kind.set_launch(*made, values->at(i));
    }
    made->compute = [&adapter, values = std::move(values)](const aclOpExecutor&) { run_body(adapter, *values); };
    return made;
}

// The recipe runs a call that was checked, with other addresses alone. If ATen throws, phase 1 is called, which reports the error.
std::unique_ptr<Recipe> recipe_of(const Adapter& adapter, const void* const* arguments, bool has_input_as_output) {
    auto recipe = std::make_unique<Recipe>();
    for (size_t i = 0; i < adapter.count; ++i) recipe->arguments.add(adapter.kinds[i]->keep(arguments[i]));
    recipe->make = [&adapter, has_input_as_output](const KeptArguments& kept) {
        const std::vector<const void*> addresses = kept.addresses();
        auto values = std::make_shared<Values>(adapter);
        values->read(addresses.data());
        values->has_input_as_output = has_input_as_output;
        return executor_of(adapter, addresses.data(), std::move(values));
    };
    return recipe;
}

}  // namespace

// MKL prepares its vector functions in the first call of one. Calls of other threads meanwhile have 12 correct bits, in which two devices
// would differ.
static void prepare_vector_functions() {
    [[maybe_unused]] static const bool are_prepared = at::exp(at::ones({1})).defined();
}

void run_plainly(const std::function<void()>& body) {
    begin_computing();
    const c10::impl::ExcludeDispatchKeyGuard guard(kAboveBackend);
    prepare_vector_functions();
    const TemporariesAreKept temporaries;
    calling_aten(body, [](const std::string& text, bool) { throw Error(ACL_ERROR_RT_AICORE_EXCEPTION, text); });
}

aclnnStatus prepare(const Adapter& adapter, const void* const* arguments, uint64_t* workspace_size, aclOpExecutor** executor) noexcept {
    const auto describe = [&](JsonObject& line) {
        for (size_t i = 0; i < adapter.count; ++i) adapter.kinds[i]->describe(line, adapter.entry.parameter(i), arguments[i]);
    };
    const auto make = [&] {
        auto values = std::make_shared<Values>(adapter);
        const auto refuse_all = [&](const std::string& text, bool is_of_a_number) {
            if (is_of_a_number) refuse_scalar(adapter, arguments);
            refuse(adapter.entry.parameter(0), "arguments that ATen takes together", text);
        };
        calling_aten(
            [&] {
                values->read(arguments);
                require_dtypes_and_dims(adapter, arguments);
                adapter.check(adapter, values->all());
            },
            refuse_all);
        auto made = executor_of(adapter, arguments, values);
        values->has_input_as_output = require_outputs_apart(made->watched, adapter.is_filled);
        require_computable(adapter, arguments, *made, values->all());
        if (is_kept_for_later_calls()) made->recipe = recipe_of(adapter, arguments, values->has_input_as_output);
        return made;
    };
    return run_phase1(adapter.entry.name(), workspace_size, executor, make, describe);
}

}  // namespace torch_aclnn::host::aten
