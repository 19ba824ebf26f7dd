#include "engine/opapi/checks.h"

#include "engine/runtime/config/soc.h"
#include "engine/runtime/memory/host_view.h"

namespace torch_aclnn::host {

static std::string dim_name(uint64_t dim) {
    return "dimension " + std::to_string(dim);
}

// Returns the types that a document lists, without those that the product lacks, and with those that a setting adds.
static DTypes offered(DTypes listed) {
    if (!traits_of(config().product).has_bf16) listed = listed.without(BF16);
    if (const DTypes others = listed.without(OF_950); config().product != Product::ascend950 && others.bits() != 0) listed = others;
    return config().allow_float64 && listed.has(ACL_FLOAT) ? listed | DOUBLE : listed;
}

static std::vector<aclDataType> members(DTypes dtypes) {
    std::vector<aclDataType> found;
    for (int dtype = 0; dtype < 64; ++dtype)
        if (dtypes.has(static_cast<aclDataType>(dtype))) found.push_back(static_cast<aclDataType>(dtype));
    return found;
}

// Words the refusal of a data type as CANN's messages do, which programs look for.
static std::string not_implemented(aclDataType dtype) {
    const std::string name = to_string(dtype);
    const bool has_name = name.find('(') == name.npos;
    return has_name ? name + " (not implemented for DT_" + (dtype == ACL_BF16 ? "BFLOAT16" : name) + ")" : name;
}

static std::string joined(const auto& items, const auto& text) {
    std::string result;
    for (const auto& item : items) result += (result.empty() ? "" : ", ") + std::string(text(item));
    return result;
}

void require_not_null(const char* name, const void* pointer) {
    if (pointer == nullptr) refuse_null(name);
}

void require_not_empty_if_strict(std::initializer_list<Named> tensors) {
    if (!config().strict) return;
    for (const Named& named : tensors)
        if (named.tensor->empty())
            refuse(named.name, "at least one element, as TORCH_ACLNN_HOST_MODE=strict asks", to_string(named.tensor->sizes));
}

void require_dtype(const Named& named, DTypes listed) {
    const DTypes allowed = offered(listed);
    if (allowed.has(named.tensor->dtype)) return;
    // Strict mode and the setting exclude each other.
    const bool setting_helps = named.tensor->dtype == ACL_DOUBLE && listed.has(ACL_FLOAT) && !config().strict;
    refuse(named.name,
           "a data type of " + joined(members(allowed), [](aclDataType t) { return to_string(t); }) + " on " + config().soc_name +
               (setting_helps ? ", or DOUBLE with TORCH_ACLNN_HOST_MODE=float64" : ""),
           not_implemented(named.tensor->dtype));
}

// Refuses a tensor of which a member is not that of the other one.
static void require_same(const char* what, const Named& named, const Named& reference, auto member) {
    const auto &own = (*named.tensor).*member, &expected = (*reference.tensor).*member;
    if (own != expected) refuse(named.name, text("the ", what, " of ", reference.name, ", ", to_string(expected)), to_string(own));
}

void require_same_dtype(const Named& named, const Named& reference) {
    require_same("data type", named, reference, &aclTensor::dtype);
}

void require_same_format(const Named& named, const Named& reference) {
    require_same("format", named, reference, &aclTensor::format);
}

void require_same_shape(const Named& named, const Named& reference) {
    require_same("shape", named, reference, &aclTensor::sizes);
}

void require_rank(const Named& named, uint64_t lowest, uint64_t highest) {
    const uint64_t rank = named.tensor->rank();
    if (rank < lowest || rank > highest)
        refuse(named.name, std::to_string(lowest) + " to " + std::to_string(highest) + " dimensions", to_string(named.tensor->sizes));
}

void require_same_rank(const Named& named, const Named& reference) {
    if (named.tensor->rank() != reference.tensor->rank())
        refuse(named.name, "the " + std::to_string(reference.tensor->rank()) + " dimensions of " + reference.name,
               to_string(named.tensor->sizes));
}

void require_dim(const Named& named, uint64_t dim, int64_t expected) {
    if (named.tensor->sizes[dim] != expected)
        refuse(named.name, std::to_string(expected) + " in " + dim_name(dim), to_string(named.tensor->sizes));
}

void require_no_zero_dim_after_batch(const Named& named, uint64_t batched_rank) {
    const Dims& sizes = named.tensor->sizes;
    for (uint64_t d = sizes.size() == batched_rank ? 1 : 0; d < sizes.size(); ++d)
        if (sizes[d] == 0) refuse(named.name, "no dimension of size 0 but N", to_string(sizes));
}

void require_length(const NamedPointer<aclIntArray>& array, std::initializer_list<uint64_t> lengths) {
    const uint64_t length = array.handle->values.size();
    if (std::find(lengths.begin(), lengths.end(), length) == lengths.end())
        refuse(array.name, joined(lengths, [](uint64_t n) { return std::to_string(n); }) + " values", std::to_string(length));
}

void require_values(const NamedPointer<aclIntArray>& array, int64_t lowest) {
    for (int64_t value : array.handle->values)
        // A value beyond 32 bits fits no shape, and sums of such values could overflow.
        if (value < lowest || value > INT32_MAX)
            refuse(array.name, "values of at least " + std::to_string(lowest) + " and below 2^31", std::to_string(value));
}

kernels::DType kernel_dtype(aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT: return kernels::DType::float32;
        case ACL_FLOAT16: return kernels::DType::float16;
        case ACL_BF16: return kernels::DType::bfloat16;
        case ACL_DOUBLE: return kernels::DType::float64;
        case ACL_INT8: return kernels::DType::int8;
        case ACL_UINT8:
        case ACL_BOOL: return kernels::DType::uint8;
        case ACL_INT16: return kernels::DType::int16;
        case ACL_INT32: return kernels::DType::int32;
        case ACL_INT64: return kernels::DType::int64;
        case ACL_COMPLEX64: return kernels::DType::complex64;
        case ACL_COMPLEX128: return kernels::DType::complex128;
        default: throw std::logic_error("no kernel takes " + to_string(dtype));
    }
}

template <int Rank>
kernels::View<Rank> view(const aclTensor& tensor) {
    kernels::View<Rank> result{host_view(tensor.first_element()), kernel_dtype(tensor.dtype), {}, {}};
    const int missing = Rank - static_cast<int>(tensor.rank());
    for (int d = 0; d < Rank; ++d) {
        result.size[d] = d < missing ? 1 : tensor.sizes[d - missing];
        result.stride[d] = d < missing ? 0 : tensor.strides[d - missing];
    }
    return result;
}

template kernels::View<1> view<1>(const aclTensor&);
template kernels::View<8> view<8>(const aclTensor&);

}  // namespace torch_aclnn::host
