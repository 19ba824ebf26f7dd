// Whether a tensor describes memory that is there: its storage, its allocation, its device, and no other tensor's memory.

#include "engine/opapi/checks.h"
#include "engine/opapi/handles.h"
#include "engine/runtime/config/config.h"
#include "kernels/support/overlap.h"

namespace torch_aclnn::host {
namespace {

std::string describe_view(const aclTensor& tensor) {
    return "shape " + to_string(tensor.sizes) + ", strides " + to_string(tensor.strides) + " and offset " + std::to_string(tensor.offset);
}

// With this limit the sum of a size and of paddings fits into int64_t.
constexpr uint64_t kMaxSize = uint64_t{1} << 61;

// Properties of a tensor that one loop over its dimensions finds. One loop, because every call runs it.
struct Layout {
    bool is_countable = true, is_empty = false;
    bool has_negative_step = false;  // whether a stride or the offset is negative
    bool is_view = false;            // whether no step is negative, and the end fits into int64_t
    int64_t end = 0;                 // one past the last element that the view reaches, counted from the storage's first
};

Layout layout_of(const aclTensor& tensor) {
    Layout layout;
    int64_t count = 1, end = tensor.offset, steps = tensor.offset;
    uint64_t largest = 0;  // a negative size is larger than any other
    bool overflows = false, end_overflows = false;
    for (uint64_t d = 0; d < tensor.rank(); ++d) {
        const int64_t size = tensor.sizes[d], stride = tensor.strides[d];
        int64_t reach;
        largest = std::max(largest, static_cast<uint64_t>(size));
        layout.is_empty |= size == 0;
        steps |= stride;
        overflows |= __builtin_mul_overflow(count, size, &count);
        const int64_t last = size - (size > 0);
        end_overflows |= __builtin_mul_overflow(last, stride, &reach) || __builtin_add_overflow(end, reach, &end);
    }
    layout.is_countable = largest <= kMaxSize && (layout.is_empty || !overflows);
    layout.has_negative_step = steps < 0;
    layout.is_view = !layout.has_negative_step && !end_overflows && !__builtin_add_overflow(end, 1, &layout.end);
    return layout;
}

// Returns the bytes of this number of elements; the first one begins a byte.
int64_t bytes_of(aclDataType dtype, int64_t elements) {
    return (elements * bits_of(dtype) + 7) / 8;
}

size_t bytes_of(const aclTensor& tensor, const Layout& layout) {
    return static_cast<size_t>(bytes_of(tensor.dtype, layout.end - tensor.offset));
}

void require_countable(const Named& named, const Layout& layout) {
    if (layout.is_countable) return;
    const std::string shape = "shape " + to_string(named.tensor->sizes);
    for (const int64_t size : named.tensor->sizes) {
        if (size < 0) refuse(named.name, "no negative dimension", shape);
        if (static_cast<uint64_t>(size) > kMaxSize) refuse(named.name, "dimensions of at most 2^61", shape);
    }
    refuse(named.name, "fewer than 2^63 elements", shape);
}

// The documents of aclCreateTensor allow no negative step, even where the view would lie within its storage.
void require_no_negative_step(const Named& named, const Layout& layout) {
    if (layout.has_negative_step) refuse(named.name, "strides and an offset that are not negative", describe_view(*named.tensor));
}

// `begin` is the element at which the storage begins.
void require_within_storage(const Named& named, const Layout& layout, int64_t begin = 0, int code = ACLNN_ERR_PARAM_INVALID) {
    const auto storage = checked_element_count(named.tensor->storage_sizes);
    if (!layout.is_view || !storage || layout.end - begin > *storage)
        refuse(layout.is_view ? code : ACLNN_ERR_PARAM_INVALID, named.name,
               "a view within its storage of " + to_string(named.tensor->storage_sizes) + " elements", describe_view(*named.tensor));
}

// An element's type asks for an alignment of its address; the parts of a complex number are numbers of their own.
constexpr int64_t kMaxAlignment = 8;

void require_aligned(const Named& named, int64_t item) {
    const auto address = reinterpret_cast<uintptr_t>(named.tensor->data);
    const auto alignment = static_cast<uintptr_t>(std::clamp<int64_t>(item, 1, kMaxAlignment));
    if (address % alignment == 0) return;
    refuse(named.name, "a data address that is a multiple of " + std::to_string(alignment), std::to_string(address));
}

// Returns where the memory of a tensor with elements is.
DeviceMemory find_memory(const Named& named, const Layout& layout) {
    const aclTensor& tensor = *named.tensor;
    if (tensor.data == nullptr) refuse_null(named.name, "a data address");
    int64_t bits;
    if (!layout.is_view || __builtin_mul_overflow(layout.end, bits_of(tensor.dtype), &bits))
        refuse(named.name, "a view that memory can hold", describe_view(tensor));
    // Counts from the data address, because an offset beyond the allocation's end may lead into another allocation.
    const auto bytes = static_cast<size_t>(bytes_of(tensor.dtype, layout.end));
    const auto memory = device_memory_at(tensor.data, bytes);
    if (!memory) refuse(named.name, "device memory", describe_missing_memory(tensor.data));
    if (memory->reach < bytes)
        refuse(named.name, "a view within its allocation, which goes on for " + std::to_string(memory->reach) + " bytes",
               describe_view(tensor) + ", which ends after " + std::to_string(bytes));
    require_aligned(named, bits_of(tensor.dtype) / 8);
    return *memory;
}

// A tensor of a call that has elements and has been checked, with the bytes from its first element to its last.
struct Place {
    const WatchedHandle* handle;
    const aclTensor* tensor;
    const char *begin, *end;
    bool is_contiguous;

    bool is_written() const { return handle->is_written(); }
    Named named() const { return {handle->name(), tensor}; }
};

// Returns the bytes of a tensor in a private format, in which strides do not say where elements are: all that its storage has.
std::optional<int64_t> bytes_of_storage(const aclTensor& tensor) {
    if (is_public(tensor.format)) return std::nullopt;
    const auto count = checked_element_count(tensor.storage_sizes);
    return count ? std::optional(bytes_of(tensor.dtype, *count)) : std::nullopt;
}

bool find_place(const aclTensor& tensor, Place& place) {
    if (const auto bytes = bytes_of_storage(tensor)) {
        place.begin = static_cast<const char*>(tensor.first_element());
        place.end = place.begin + *bytes;
        place.is_contiguous = true;
        return *bytes != 0;
    }
    int64_t last = 0, count = 1;
    place.is_contiguous = true;
    for (uint64_t d = tensor.rank(); d-- > 0; count *= tensor.sizes[d]) {
        const int64_t size = tensor.sizes[d], stride = tensor.strides[d];
        last += (size - 1) * stride;
        place.is_contiguous &= size == 1 || stride == count;
    }
    place.begin = static_cast<const char*>(tensor.first_element());
    place.end = static_cast<const char*>(tensor.data) + bytes_of(tensor.dtype, tensor.offset + last + 1);
    return count != 0;
}

bool is_same_view(const aclTensor& a, const aclTensor& b) {
    if (a.first_element() != b.first_element() || a.dtype != b.dtype || a.sizes != b.sizes) return false;
    for (uint64_t d = 0; d < a.rank(); ++d)
        if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
    return true;
}

// Whether the real numbers are the real or the imaginary parts of the complex ones, each of the element at its own place.
bool is_part_of(const aclTensor& numbers, const aclTensor& complex) {
    const size_t item = aclDataTypeSize(numbers.dtype);
    const bool is_half =
        (numbers.dtype == ACL_FLOAT && complex.dtype == ACL_COMPLEX64) || (numbers.dtype == ACL_DOUBLE && complex.dtype == ACL_COMPLEX128);
    const auto* const first = static_cast<const char*>(complex.first_element());
    if (!is_half || numbers.sizes != complex.sizes) return false;
    if (numbers.first_element() != first && numbers.first_element() != first + item) return false;
    for (uint64_t d = 0; d < numbers.rank(); ++d)
        if (numbers.sizes[d] != 1 && numbers.strides[d] != 2 * complex.strides[d]) return false;
    return true;
}

kernels::Extent extent_of_elements(const aclTensor& tensor) {
    return {tensor.first_element(), static_cast<int64_t>(aclDataTypeSize(tensor.dtype)), static_cast<int>(tensor.rank()),
            tensor.sizes.begin(), tensor.strides.begin()};
}

// Returns all bytes from the first to the last, where strides do not say in which an element is.
kernels::Extent extent(const aclTensor& tensor) {
    if (is_public(tensor.format) && bits_of(tensor.dtype) >= 8) return extent_of_elements(tensor);
    Place place{};
    (void)find_place(tensor, place);
    return {place.begin, place.end - place.begin, 0, nullptr, nullptr};
}

void require_elements_apart(const Named& output) {
    if (is_public(output.tensor->format) && kernels::overlaps_itself(extent_of_elements(*output.tensor)))
        refuse(output.name, "elements that do not share memory",
               "shape " + to_string(output.tensor->sizes) + " with strides " + to_string(output.tensor->strides));
}

void require_apart(const Named& output, const Named& other) {
    if (kernels::overlap(extent(*output.tensor), extent(*other.tensor)))
        refuse(output.name, "memory of its own", "memory that is also that of " + std::string(other.name));
}

// Refuses two tensors that share memory, and returns whether an input is an output. An output may be exactly an input, or have an input as
// its real parts, as where torch_npu conjugates. A list may contain a tensor twice, as those into which torch_npu's captured graphs copy.
bool require_apart(const Place& one, const Place& other) {
    const bool may_be_one = one.is_written() != other.is_written() || one.handle->name() == other.handle->name();
    if (may_be_one && is_same_view(*one.tensor, *other.tensor)) return one.is_written() != other.is_written();
    if (one.is_written() != other.is_written()) {
        const bool is_one = one.is_written();
        if (is_part_of(*(is_one ? other : one).tensor, *(is_one ? one : other).tensor)) return false;
    }
    const bool is_first = one.is_written() && (!other.is_written() || one.handle < other.handle);
    require_apart((is_first ? one : other).named(), (is_first ? other : one).named());
    return false;
}

// Volumes of 4 dimensions have no format that names their axes.
void require_five_dims_of_a_volume_format(const Named& named) {
    const aclFormat format = named.tensor->format;
    if ((format == ACL_FORMAT_NCDHW || format == ACL_FORMAT_NDHWC) && named.tensor->rank() != 5)
        refuse(named.name, "5 dimensions for format " + to_string(format) + ", as TORCH_ACLNN_HOST_MODE=strict asks",
               to_string(named.tensor->sizes));
}

}  // namespace

size_t require_device_view(const Named& named, bool is_written, int beyond) {
    const Layout layout = layout_of(*named.tensor);
    require_countable(named, layout);
    if (layout.is_empty) return 0;
    require_no_negative_step(named, layout);
    // Some programs count the storage from the view's first element on, or as many elements as they write; hardware never notices.
    if (config().strict || !is_written) require_within_storage(named, layout, config().strict ? 0 : named.tensor->offset, beyond);
    (void)find_memory(named, layout);
    return bytes_of(*named.tensor, layout);
}

void require_sound(std::initializer_list<Named> tensors) {
    const Named* first = nullptr;
    int device = -1;
    for (const Named& named : tensors) {
        const Layout layout = layout_of(*named.tensor);
        require_countable(named, layout);
        if (!is_public(named.tensor->format)) refuse(named.name, "a public format", to_string(named.tensor->format));
        if (config().strict) require_five_dims_of_a_volume_format(named);
        if (layout.is_empty) continue;
        require_no_negative_step(named, layout);
        require_within_storage(named, layout);
        const DeviceMemory memory = find_memory(named, layout);
        if (memory.device < 0) continue;
        if (first == nullptr) {
            first = &named;
            device = memory.device;
        } else if (memory.device != device) {
            refuse(named.name, "memory of device " + std::to_string(device) + " like " + first->name,
                   "memory of device " + std::to_string(memory.device));
        }
    }
}

size_t view_bytes(const aclTensor& tensor) {
    return bytes_of(tensor, layout_of(tensor));
}

void require_no_overlap(const Named& output, std::initializer_list<Named> inputs) {
    if (output.tensor->empty()) return;
    require_elements_apart(output);
    for (const Named& input : inputs)
        if (input.tensor != nullptr && !input.tensor->empty()) require_apart(output, input);
}

bool require_outputs_apart(const std::vector<WatchedHandle>& arguments, bool is_filled) {
    constexpr size_t kFew = 16;
    Place few[kFew];
    std::vector<Place> many(arguments.size() > kFew ? arguments.size() : 0);
    Place* const places = many.empty() ? few : many.data();
    Place* end = places;
    for (const WatchedHandle& handle : arguments) {
        *end = {&handle, handle.tensor(), nullptr, nullptr, false};
        if (end->tensor == nullptr || !find_place(*end->tensor, *end)) continue;
        if (handle.is_written() && !end->is_contiguous && !is_filled) require_elements_apart(end->named());
        ++end;
    }
    // A few are compared with each other, which costs less than sorting them.
    const bool is_sorted = !many.empty();
    if (is_sorted) std::sort(places, end, [](const Place& a, const Place& b) { return a.begin < b.begin; });
    bool has_input_as_output = false;
    for (const Place* one = places; one < end; ++one)
        for (const Place* other = one + 1; other < end; ++other) {
            if (is_sorted && other->begin >= one->end) break;
            const bool meet = other->begin < one->end && one->begin < other->end;
            if (meet && (one->is_written() || other->is_written())) has_input_as_output |= require_apart(*one, *other);
        }
    return has_input_as_output;
}

}  // namespace torch_aclnn::host
