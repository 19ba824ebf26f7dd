#include "engine/aten/implement/entry_point.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/opapi/executor_cache.h"

namespace torch_aclnn::host::aten {
namespace {

constexpr const char* kFamily = "implemented by the program";

const ImplementedEntryPoint& implemented(const Adapter& adapter) {
    return static_cast<const ImplementedEntryPoint&>(adapter);
}

void refuse_if_stopped(const Adapter& adapter, char*) {
    implemented(adapter).function.require_callable();
}

void call_function(const Adapter& adapter, char* values) {
    const ImplementedFunction& function = implemented(adapter).function;
    std::vector<ShownValue> shown(adapter.count);
    for (size_t i = 0; i < adapter.count; ++i) function.parameters()[i].type->show(values + adapter.offsets[i], shown[i]);
    function.call(shown);
}

// The arguments of a call, one by one, as the procedure call standard lays them out: those of either class in its registers as long as
// there are some, and then on the stack, in order.
class ArgumentWalk {
   public:
    ArgumentWalk(const RawArguments& registers, const uint64_t* stack) : registers_(registers), stack_(stack) {}

    const uint64_t* next(bool is_floating) {
        if (is_floating) return float_ < kFloatRegisters ? &registers_.floats[float_++] : stack_++;
        return integer_ < kIntegerRegisters ? &registers_.integers[integer_++] : stack_++;
    }

   private:
    const RawArguments& registers_;
    const uint64_t* stack_;
    size_t integer_ = 0, float_ = 0;
};

struct HandleKind {
    std::string_view kind;
    const char* name;
    bool (*is_live)(const void* address);
};

template <class Handle>
constexpr HandleKind handle_kind(const char* kind) {
    return {kind, handle_name<Handle>, [](const void* address) { return slots_of<Handle>().is_live(address); }};
}

constexpr HandleKind kHandleKinds[] = {
    handle_kind<aclTensor>("In"),          handle_kind<aclTensorList>("Tensors"), handle_kind<aclScalar>("Scalar"),
    handle_kind<aclScalarList>("Scalars"), handle_kind<aclIntArray>("Ints"),      handle_kind<aclBoolArray>("Bools"),
    handle_kind<aclFloatArray>("Floats"),
};

// The C type that a kind is passed as, as far as the signature knows it; whether it may be null or is written makes no difference.
std::string_view passed_as(std::string_view kind) {
    constexpr std::string_view kOptional = "Opt", kTensors[] = {"In", "Out", "InOut", "NonConstIn", "Packed"};
    if (kind.substr(0, kOptional.size()) == kOptional) kind.remove_prefix(kOptional.size());
    if (kind == "TensorsOut" || kind == "TensorsInOut") return "Tensors";
    return std::find(std::begin(kTensors), std::end(kTensors), kind) != std::end(kTensors) ? "In" : kind;
}

// Null for a kind that is no handle.
const HandleKind* find_handle_kind(std::string_view kind) {
    for (const HandleKind& one : kHandleKinds)
        if (one.kind == passed_as(kind)) return &one;
    return nullptr;
}

void require_live_handle(const SignatureParameter& parameter, uint64_t value) {
    const auto* const address = reinterpret_cast<const void*>(value);
    const HandleKind* const kind = find_handle_kind(parameter.type->kind_name);
    if (kind != nullptr && address != nullptr && !kind->is_live(address))
        refuse(parameter.name.c_str(), text("a live ", kind->name),
               describe_dead(address) + ": look whether the call has the parameters of the signature");
}

// Of a signature with fewer parameters than the caller has, these are arguments.
void require_place(const char* name, uint64_t address) {
    constexpr uint64_t kFirstPage = 4096;
    const char* const expected = "a place for the result behind the parameters of the signature";
    if (address == 0) return;  // phase 1 refuses it
    if (std::any_of(std::begin(kHandleKinds), std::end(kHandleKinds),
                    [&](const HandleKind& kind) { return kind.is_live(reinterpret_cast<const void*>(address)); }))
        refuse(name, expected, "a handle: the call has more parameters");
    if (address < kFirstPage || address % alignof(void*) != 0)
        refuse(name, expected, text(static_cast<int64_t>(address), ": the call has other parameters"));
}

aclnnStatus first_phase(const AddedEntryPoint& added, const RawArguments& registers, const uint64_t* stack) noexcept {
    const auto& entry_point = static_cast<const ImplementedEntryPoint&>(added);
    std::vector<const void*> arguments;
    uint64_t workspace_size = 0, executor = 0;
    const int refused = guarded(entry_point.entry.name(), [&] {
        ArgumentWalk walk(registers, stack);
        for (const SignatureParameter& parameter : entry_point.function.parameters()) {
            const uint64_t* const argument = walk.next(parameter.type->is_floating);
            require_live_handle(parameter, *argument);
            arguments.push_back(argument);
        }
        workspace_size = *walk.next(false);
        executor = *walk.next(false);
        require_place("workspaceSize", workspace_size);
        require_place("executor", executor);
    });
    if (refused != ACLNN_SUCCESS) return refused;
    return prepare_own(entry_point, arguments.data(), reinterpret_cast<uint64_t*>(workspace_size),
                       reinterpret_cast<aclOpExecutor**>(executor));
}

aclnnStatus second_phase(const AddedEntryPoint& added, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                         aclrtStream stream) noexcept {
    auto& entry_point = const_cast<ImplementedEntryPoint&>(static_cast<const ImplementedEntryPoint&>(added));
    return run_phase2(entry_point.own_entry, workspace, workspace_size, executor, stream);
}

int replacing_phase(const Replacement& replacement, const void* const* arguments, uint64_t* workspace_size,
                    aclOpExecutor** executor) noexcept {
    return prepare_own(static_cast<const ImplementedEntryPoint&>(replacement), arguments, workspace_size, executor);
}

bool is_implementation(const EntryPoint& entry_point) {
    return std::string_view(entry_point.description().family) == kFamily;
}

}  // namespace

ImplementedParts::ImplementedParts(const torchAclnnImplementation& given)
    : function(given),
      described([this] {
          std::vector<torchAclnnParameter> all;
          for (const auto& [name, type] : function.parameters())
              all.push_back({type->kind_name, name.c_str(), type->nullable, type->kind->dtypes.bits()});
          return all;
      }()),
      kinds_of_all([this] {
          std::vector<const ErasedKind*> all;
          for (const SignatureParameter& parameter : function.parameters()) all.push_back(parameter.type->kind);
          return all;
      }()),
      offsets_of_all([this] {
          std::vector<size_t> all{0};
          for (const ErasedKind* kind : kinds_of_all) all.push_back(offset_behind(all.back(), kind->value_size));
          return all;
      }()),
      own_entry(function.name().c_str(), kFamily, given.dataTypes != 0 ? given.dataTypes : ANY.bits(), described.data(), described.size()) {
}

ImplementedEntryPoint::ImplementedEntryPoint(const torchAclnnImplementation& given)
    : ImplementedParts(given),
      Adapter{own_entry,         kinds_of_all.data(), offsets_of_all.data(),     kinds_of_all.size(),
              refuse_if_stopped, call_function,       /*type_signature=*/nullptr},
      AddedEntryPoint{first_phase, second_phase},
      Replacement{replacing_phase} {
    own_entry.unlist();
}

void ImplementedEntryPoint::publish(bool replace) {
    EntryPoint* other = EntryPoint::find(own_entry.name());
    if (other != nullptr && other->description().refused != 0) {  // nothing is lost with it
        other->unlist();
        other = nullptr;
    }
    if (other != nullptr && !replace)
        refuse(ACL_ERROR_INVALID_PARAM, own_entry.name(), "a name that is not taken, or replace=True",
               is_implementation(*other) ? "one that is implemented already" : "one of the engine's");
    if (other != nullptr && !is_implementation(*other))
        take_place_of(*other);
    else if (!add_entry_point(own_entry.name(), *this))
        refuse(ACL_ERROR_INVALID_PARAM, own_entry.name(),
               text("at most ", kMaxAddedEntryPoints, " implementations, in memory that can be written"), "one more");
    if (other == nullptr) return own_entry.list();
    if (is_implementation(*other)) {
        other->unlist();
        own_entry.list();
    }
    forget_cached_executors();
}

void ImplementedEntryPoint::take_place_of(EntryPoint& other) {
    const torchAclnnEntryPoint is = other.description();
    if (is.parameterCount != count)
        refuse(ACL_ERROR_INVALID_PARAM, "signature", text("the ", is.parameterCount, " parameters of ", is.name), text(count));
    for (size_t i = 0; i < count; ++i) {
        const std::string_view expected = passed_as(is.parameters[i].kind), got = passed_as(described[i].kind);
        if ((find_handle_kind(expected) != nullptr || find_handle_kind(got) != nullptr) && expected != got)
            refuse(ACL_ERROR_INVALID_PARAM, text("signature: ", described[i].name),
                   text("what ", is.name, " has as ", is.parameters[i].name, ", ", is.parameters[i].kind), described[i].kind);
    }
    other.replace(*this);
}

}  // namespace torch_aclnn::host::aten
