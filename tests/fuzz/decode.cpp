#include "decode.h"

#include <algorithm>

namespace fuzz {

constexpr size_t kMaxRank = 18;  // one more than a handle takes, or several

constexpr aclDataType kDtypes[] = {ACL_FLOAT, ACL_FLOAT16,   ACL_BF16,       ACL_DOUBLE,      ACL_INT8,   ACL_INT16,
                                   ACL_INT32, ACL_INT64,     ACL_UINT8,      ACL_UINT16,      ACL_UINT32, ACL_UINT64,
                                   ACL_BOOL,  ACL_COMPLEX64, ACL_COMPLEX128, ACL_DT_UNDEFINED};
constexpr aclFormat kFormats[] = {ACL_FORMAT_NCHW,  ACL_FORMAT_NCL,     ACL_FORMAT_ND,         ACL_FORMAT_NHWC,     ACL_FORMAT_UNDEFINED,
                                  ACL_FORMAT_NDHWC, ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_NZ, ACL_FORMAT_NDC1HWC0, ACL_FORMAT_NCDHW};

template <class Value, size_t count>
static Value one_of(Bytes& bytes, const Value (&known)[count]) {
    const size_t which = bytes.below(count + 1);
    return which < count ? known[which] : static_cast<Value>(static_cast<int32_t>(bytes.word()));
}

// A handle that is missing, destroyed or of something else.
static Handle bad_handle(Bytes& bytes) {
    constexpr Handle kHandles[] = {Handle::null, Handle::destroyed, Handle::foreign};
    return kHandles[bytes.below(3)];
}

static void change_number(Bytes& bytes, std::vector<int64_t>& numbers) {
    if (numbers.empty()) return;
    int64_t& number = numbers[bytes.below(numbers.size())];
    number = bytes.hostile(number);
}

static void change_rank(Bytes& bytes, TensorSpec& t) {
    if (bytes.rarely(128) && !t.sizes.empty()) {
        const size_t d = bytes.below(t.sizes.size());
        t.sizes.erase(t.sizes.begin() + static_cast<std::ptrdiff_t>(d));
        t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(d));
        return;
    }
    for (size_t more = bytes.below(kMaxRank) / 4 + 1; more > 0 && t.sizes.size() < kMaxRank; --more) {
        t.sizes.insert(t.sizes.begin(), 1);
        t.strides.insert(t.strides.begin(), 1);
    }
}

static void change_storage(Bytes& bytes, TensorSpec& t) {
    t.storage.resize(bytes.below(kMaxRank), 1);
    change_number(bytes, t.storage);
    change_number(bytes, t.storage);
}

static void change_memory(Bytes& bytes, TensorSpec& t) {
    constexpr Memory kMemories[] = {Memory::other_device, Memory::host, Memory::freed, Memory::none};
    switch (bytes.below(8)) {
        case 4: t.block_bytes = t.block_bytes > 1 ? t.block_bytes - 1 : 1; break;
        case 5: t.block_bytes = 1 + bytes.byte(); break;
        case 6: t.shift += bytes.byte(); break;  // the end moves beyond the allocation
        case 7: {
            const size_t more = bytes.byte();
            t.shift += more;
            t.block_bytes += more;
            break;
        }
        default: t.memory = kMemories[bytes.below(4)]; break;
    }
}

// Another tensor's memory, before, in, or behind its elements.
static void share_memory(Bytes& bytes, Call& call, size_t i) {
    const size_t other = bytes.below(call.tensors.size());
    TensorSpec& owner = call.tensors[other];
    if (owner.block_of != other) return;
    TensorSpec& t = call.tensors[i];
    const size_t needed = t.block_bytes > t.shift ? t.block_bytes - t.shift : 1;
    t.block_of = other;
    t.shift = bytes.rarely(128) ? owner.block_bytes : bytes.between(0, 15) * 4;
    if (bytes.rarely(200)) owner.block_bytes = std::max(owner.block_bytes, t.shift + needed);
}

static void share_handle(Bytes& bytes, Call& call, size_t i) {
    const size_t other = bytes.below(call.tensors.size());
    if (call.tensors[other].handle_of != other || other == i) return;
    call.tensors[i] = call.tensors[other];
}

// Two tensors that have to agree change together, so that what is behind that check is reached too.
static void change_same_size(Bytes& bytes, Call& call) {
    const size_t dim = bytes.below(8);
    const int64_t size = bytes.hostile(1);
    for (TensorSpec& t : call.tensors) {
        if (dim >= t.sizes.size()) continue;
        t.sizes[dim] = size;
        if (bytes.rarely(200)) t.strides[dim] = 0;
    }
}

static void change_same_kind(Bytes& bytes, Call& call) {
    const aclDataType dtype = one_of(bytes, kDtypes);
    const aclFormat format = one_of(bytes, kFormats);
    const bool both = bytes.rarely(128);
    for (TensorSpec& t : call.tensors) {
        if (both) t.format = format;
        t.block_bytes = t.block_bytes / static_cast<size_t>(std::max<int64_t>(item_size(t.dtype), 1)) * 16;
        t.dtype = dtype;
    }
}

static void change_tensor(Bytes& bytes, Call& call) {
    const size_t i = bytes.below(call.tensors.size());
    TensorSpec& t = call.tensors[i];
    switch (bytes.below(13)) {
        case 0: change_number(bytes, t.sizes); break;
        case 1: change_number(bytes, t.strides); break;
        case 2: t.offset = bytes.hostile(t.offset); break;
        case 3: change_storage(bytes, t); break;
        case 4: change_memory(bytes, t); break;
        case 5: t.dtype = one_of(bytes, kDtypes); break;
        case 6: t.format = one_of(bytes, kFormats); break;
        case 7: t.handle = bad_handle(bytes); break;
        case 8: change_rank(bytes, t); break;
        case 9: share_memory(bytes, call, i); break;
        case 10: share_handle(bytes, call, i); break;
        case 11: change_same_size(bytes, call); break;
        case 12: change_same_kind(bytes, call); break;
    }
}

static void change_array(Bytes& bytes, Call& call) {
    if (call.arrays.empty()) return;
    ArraySpec& array = call.arrays[bytes.below(call.arrays.size())];
    switch (bytes.below(4)) {
        case 0: change_number(bytes, array.values); break;
        case 1: array.values.resize(bytes.below(20), 1); break;
        case 2: array.handle = bad_handle(bytes); break;
        case 3:
            for (int64_t& value : array.values) value = bytes.hostile(value);
            break;
    }
}

static void change_rest(Bytes& bytes, Call& call) {
    switch (bytes.below(6)) {
        case 0: call.divisor = bytes.hostile(call.divisor); break;
        case 1: call.cube_math_type = static_cast<int8_t>(bytes.byte()); break;
        case 2: call.ceil_mode = !call.ceil_mode; break;
        case 3: call.null_size = true; break;
        case 4: call.null_executor = true; break;
        case 5: call.count_include_pad = !call.count_include_pad; break;
    }
}

// Makes the parts of a call agree: a tensor with another's handle is the same tensor, and tensors that share memory all name the one that
// has it.
static void settle(Call& call) {
    for (TensorSpec& t : call.tensors) {
        size_t handle = t.handle_of;
        while (call.tensors[handle].handle_of != handle) handle = call.tensors[handle].handle_of;
        t = call.tensors[handle];
        if (t.null_strides) t.strides = contiguous_strides(t.sizes);
    }
    for (TensorSpec& t : call.tensors) {
        t.block_bytes = std::clamp<size_t>(t.block_bytes, 1, size_t{1} << 20);
        while (call.tensors[t.block_of].block_of != t.block_of) t.block_of = call.tensors[t.block_of].block_of;
    }
}

Call decode(Bytes& bytes) {
    constexpr size_t kChanges[] = {0, 0, 1, 1, 2, 2, 3, 5};
    const size_t changes = kChanges[bytes.below(8)];
    const auto plot = static_cast<Plot>(bytes.below(static_cast<size_t>(Plot::last) + 1));
    const size_t choice = bytes.byte();
    const uint8_t values = bytes.byte();
    Call call = usual_call(bytes);
    call.plot = bytes.rarely(128) ? plot : Plot::run;
    call.choice = choice;
    call.values = values;
    for (size_t i = 0; i < changes; ++i) {
        const uint8_t what = bytes.byte();
        if (what < 180)
            change_tensor(bytes, call);
        else if (what < 230)
            change_array(bytes, call);
        else
            change_rest(bytes, call);
    }
    settle(call);
    return call;
}

}  // namespace fuzz
