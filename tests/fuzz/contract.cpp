#include "contract.h"

#include <algorithm>
#include <string>

namespace fuzz {

constexpr Wide kMaxElements = Wide{1} << 63;  // an exclusive limit
constexpr Wide kFar = Wide{1} << 100;
constexpr Wide kMaxSize = Wide{1} << 61;
constexpr uint64_t kMaxRank = 16;

static Wide product_of(const std::vector<int64_t>& sizes) {
    if (std::count(sizes.begin(), sizes.end(), 0) > 0) return 0;
    Wide product = 1;
    for (const int64_t size : sizes)
        if (size > 0) product = product > kFar / size ? kFar : product * size;
    return product;
}

static bool any_negative(const std::vector<int64_t>& numbers) {
    return std::any_of(numbers.begin(), numbers.end(), [](int64_t n) { return n < 0; });
}

static bool is_public(aclFormat format) {
    const std::set<int> known{ACL_FORMAT_UNDEFINED, ACL_FORMAT_NCHW,  ACL_FORMAT_NHWC, ACL_FORMAT_ND,
                              ACL_FORMAT_NDHWC,     ACL_FORMAT_NCDHW, ACL_FORMAT_NCL};
    return known.count(format) > 0;
}

static bool has_memory(const Call& call, const TensorSpec& t) {
    return call.tensors[t.block_of].memory != Memory::none;
}

// One past the last element, from the storage's first; kFar where a stride or the offset is negative.
static Wide end_of(const TensorSpec& t) {
    if (t.offset < 0 || any_negative(t.strides)) return kFar;
    Wide end = Wide{t.offset} + 1;
    for (size_t d = 0; d < t.sizes.size(); ++d) end = std::min(kFar, end + (Wide{t.sizes[d]} - 1) * std::min<Wide>(t.strides[d], kMaxSize));
    return end;
}

static bool is_countable(const TensorSpec& t) {
    if (any_negative(t.sizes) || product_of(t.sizes) >= kMaxElements) return false;
    return std::all_of(t.sizes.begin(), t.sizes.end(), [](int64_t size) { return size <= kMaxSize; });
}

// For a tensor with elements: within what was declared.
static bool is_within_storage(const TensorSpec& t) {
    const Wide elements = product_of(t.storage);
    return !any_negative(t.storage) && elements < kMaxElements && end_of(t) <= elements;
}

// Within the allocation, at an address that its elements can have.
static bool is_within_memory(const Call& call, const TensorSpec& t) {
    const TensorSpec& block = call.tensors[t.block_of];
    const Wide end = end_of(t), item = item_size(t.dtype);
    if (block.memory != Memory::device && block.memory != Memory::other_device) return false;
    if (item > 0 && t.shift % static_cast<size_t>(std::min<Wide>(item, 8)) != 0) return false;
    return end < kFar && Wide{t.shift} + end * item <= Wide{block.block_bytes} &&
           Wide{t.shift} + Wide{t.offset} * item < Wide{block.block_bytes};
}

static bool on_one_device(const Call& call) {
    std::set<Memory> found;
    for (const TensorSpec& t : call.tensors)
        if (exists(t) && !is_empty(t)) found.insert(call.tensors[t.block_of].memory);
    return found.size() < 2;
}

// Whether each element of the output has memory of its own, which no input has a part in. The tensors are within their memory, so that they
// have few elements.
static bool output_is_its_own(const Call& call) {
    const auto& roles = entry_points()[call.entry_point].tensors;
    const TensorSpec& out = call.tensors.back();
    if (is_empty(out)) return true;
    const auto bytes = static_cast<size_t>(item_size(out.dtype));
    const TensorSpec& block = call.tensors[out.block_of];
    if (element_count(out) * static_cast<Wide>(bytes) > Wide{block.block_bytes}) return false;
    std::vector<bool> written(block.block_bytes);
    bool own = true;
    each_element(out, [&](size_t at) {
        for (size_t b = at; b < at + bytes; ++b) {
            own = own && !written[b];
            written[b] = true;
        }
    });
    for (size_t i = 0; i < call.tensors.size(); ++i) {
        TensorSpec t = call.tensors[i];
        if (roles[i].role != Role::read || !exists(t) || t.block_of != out.block_of) continue;
        for (size_t d = 0; d < t.sizes.size(); ++d)
            if (t.strides[d] == 0 && t.sizes[d] > 1) t.sizes[d] = 1;  // an expanded dimension has the same elements
        if (element_count(t) > Wide{1} << 20) continue;
        each_element(t, [&](size_t at) {
            for (size_t b = at; b < at + static_cast<size_t>(item_size(t.dtype)); ++b) own = own && !written[b];
        });
    }
    return own;
}

static bool has_null(const Call& call) {
    if (call.null_size || call.null_executor) return true;
    const EntryPoint& e = entry_points()[call.entry_point];
    for (size_t i = 0; i < call.tensors.size(); ++i)
        if (is_null(call.tensors[i]) && !e.tensors[i].optional) return true;
    for (size_t i = 0; i < call.arrays.size(); ++i)
        if (call.arrays[i].handle == Handle::null && !(e.kind == Kind::average && i == 1)) return true;
    return false;
}

static bool all_live(const Call& call) {
    const auto is_dead = [](const auto& spec) { return spec.handle == Handle::destroyed || spec.handle == Handle::foreign; };
    return std::none_of(call.tensors.begin(), call.tensors.end(), [&](const auto& t) { return is_dead(t) && !is_null(t); }) &&
           std::none_of(call.arrays.begin(), call.arrays.end(), is_dead);
}

bool is_null(const TensorSpec& t) {
    const bool fits = t.sizes.size() <= kMaxRank && t.storage.size() <= kMaxRank;
    return t.handle == Handle::null || (t.handle != Handle::foreign && !fits);
}

bool exists(const TensorSpec& t) {
    return t.handle == Handle::live && !is_null(t);
}

bool is_empty(const TensorSpec& t) {
    return std::count(t.sizes.begin(), t.sizes.end(), 0) > 0;
}

Wide element_count(const TensorSpec& t) {
    return product_of(t.sizes);
}

Product product() {
    const std::string soc = aclrtGetSocName();
    if (soc.rfind("Ascend310P", 0) == 0) return Product::inference;
    const bool numbered = soc.size() > 10 && soc[10] >= '0' && soc[10] <= '9';
    return soc.rfind("Ascend910B", 0) == 0 && numbered ? Product::a2 : Product::training;
}

std::set<int> expected_codes(const Call& call) {
    if (has_null(call)) return {ACLNN_ERR_PARAM_NULLPTR};
    if (!all_live(call)) return {ACLNN_ERR_PARAM_INVALID};
    bool valid = keeps_operator_rules(call), data_given = true, within = true;
    for (const TensorSpec& t : call.tensors) {
        if (!exists(t)) continue;
        valid = valid && is_public(t.format) && is_countable(t);
        if (any_negative(t.sizes) || is_empty(t)) continue;
        data_given = data_given && has_memory(call, t);
        within = within && is_within_storage(t) && (!has_memory(call, t) || is_within_memory(call, t));
    }
    valid = valid && within && on_one_device(call) && (!data_given || output_is_its_own(call));
    std::set<int> codes;
    if (!valid) codes.insert(ACLNN_ERR_PARAM_INVALID);
    if (!data_given) codes.insert(ACLNN_ERR_PARAM_NULLPTR);
    if (codes.empty()) codes.insert(ACLNN_SUCCESS);
    return codes;
}

}  // namespace fuzz
