#include <cstdlib>
#include <cstring>

#include "arenas.h"
#include "values.h"
#include "world.h"

namespace fuzz {

constexpr uint8_t kPattern = 0xFF;  // no operator computes a NaN with all bits set, or -1

Blocks::Blocks(const Call& call) : call_(call) {
    for (size_t i = 0; i < call.tensors.size(); ++i) {
        const size_t owner = call.tensors[i].block_of;
        if (blocks_[owner] == nullptr) blocks_[owner] = allocate(owner);
    }
    // Last, because another allocation could get the same address.
    for (size_t i = 0; i < call.tensors.size(); ++i)
        if (blocks_[i] != nullptr && call.tensors[i].memory == Memory::freed) (void)aclrtFree(blocks_[i]);
}

Blocks::~Blocks() {
    for (size_t i = 0; i < call_.tensors.size(); ++i) release(i);
    if (moved_from_ != nullptr) (void)aclrtFree(moved_from_);
}

uint8_t* Blocks::allocate(size_t i) {
    const TensorSpec& spec = call_.tensors[i];
    if (spec.memory == Memory::none) return nullptr;
    if (spec.memory == Memory::host) return static_cast<uint8_t*>(std::malloc(spec.block_bytes));
    const bool stays = spec.memory == Memory::device && call_.plot != Plot::free_memory && call_.plot != Plot::move_output;
    if (uint8_t* const guarded = stays ? guarded_memory(i, spec.block_bytes) : nullptr) {
        is_guarded_[i] = true;
        return guarded;
    }
    const bool other = spec.memory == Memory::other_device;
    void* memory = nullptr;
    if (other) (void)aclrtSetDevice(1);
    if (aclrtMalloc(&memory, spec.block_bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) fail(call_, "an allocation failed");
    if (other) (void)aclrtSetDevice(0);
    return static_cast<uint8_t*>(memory);
}

void Blocks::release(size_t i) {
    if (blocks_[i] == nullptr) return;
    switch (call_.tensors[i].memory) {
        case Memory::host: std::free(blocks_[i]); break;
        case Memory::device:
        case Memory::other_device:
            if (!is_guarded_[i] && aclrtFree(blocks_[i]) != ACL_SUCCESS) fail(call_, "aclrtFree failed");
            break;
        default: break;
    }
    blocks_[i] = nullptr;
}

bool Blocks::is_there(size_t i) const {
    return blocks_[i] != nullptr && call_.tensors[i].memory != Memory::freed;
}

void* Blocks::data(size_t i) const {
    uint8_t* const first = block(i);
    return first == nullptr ? nullptr : first + call_.tensors[i].shift;
}

void Blocks::fill() {
    const auto& roles = entry_points()[call_.entry_point].tensors;
    for (size_t i = 0; i < call_.tensors.size(); ++i)
        if (is_there(i)) std::memset(blocks_[i], kPattern, call_.tensors[i].block_bytes);
    for (size_t i = 0; i < call_.tensors.size(); ++i) {
        if (roles[i].role != Role::read || !is_there(call_.tensors[i].block_of) || !exists(call_.tensors[i]) || is_empty(call_.tensors[i]))
            continue;
        const TensorSpec& t = call_.tensors[i];
        const auto item = static_cast<size_t>(item_size(t.dtype));
        const size_t end = call_.tensors[t.block_of].block_bytes;
        for (size_t at = t.shift, n = 0; at + item <= end; at += item, ++n) write_value(call_, i, n, block(i) + at);
    }
    const TensorSpec& out = call_.tensors.back();
    uint8_t* const first = block(call_.tensors.size() - 1);
    each_element(out, [&](size_t at) { std::memset(first + at, kPattern, static_cast<size_t>(item_size(out.dtype))); });
    for (size_t i = 0; i < call_.tensors.size(); ++i)
        if (is_there(i)) before_[i].assign(blocks_[i], blocks_[i] + call_.tensors[i].block_bytes);
}

void Blocks::free(size_t i) {
    release(call_.tensors[i].block_of);
}

void Blocks::move_output() {
    const size_t owner = call_.tensors.back().block_of;
    uint8_t* const moved = allocate(owner);
    std::memcpy(moved, blocks_[owner], call_.tensors[owner].block_bytes);
    moved_from_ = blocks_[owner];
    blocks_[owner] = moved;
}

void Blocks::compare(const std::vector<std::vector<bool>>& may_change, const char* when) const {
    for (size_t i = 0; i < call_.tensors.size(); ++i) {
        if (!is_there(i) || before_[i].empty()) continue;
        const std::vector<bool>& allowed = may_change[i];
        if (allowed.empty() && std::memcmp(blocks_[i], before_[i].data(), before_[i].size()) == 0) continue;
        for (size_t b = 0; b < before_[i].size(); ++b)
            if (blocks_[i][b] != before_[i][b] && (allowed.empty() || !allowed[b]))
                fail(call_,
                     std::string(when) + ": byte " + std::to_string(b) + " of the memory of tensor " + std::to_string(i) + " changed");
    }
}

void Blocks::require_untouched(const char* when) const {
    compare(std::vector<std::vector<bool>>(kMaxTensors), when);
}

bool Blocks::is_bad(size_t at) const {
    int64_t index = 0, plane = 1;
    if (call_.tensors[2].dtype == ACL_INT32) {
        int32_t narrow;
        std::memcpy(&narrow, block(2) + at, sizeof narrow);
        index = narrow;
    } else {
        std::memcpy(&index, block(2) + at, sizeof index);
    }
    for (const int64_t size : call_.arrays[0].values) plane *= size;
    return index < 0 || index >= plane;
}

bool Blocks::has_bad_index() const {
    bool found = false;
    if (entry_points()[call_.entry_point].kind == Kind::unpool)
        each_element(call_.tensors[2], [&](size_t at) { found = found || is_bad(at); });
    return found;
}

void Blocks::require_written_once() const {
    const TensorSpec& out = call_.tensors.back();
    const auto item = static_cast<size_t>(item_size(out.dtype));
    const uint8_t* const first = block(call_.tensors.size() - 1);
    std::vector<std::vector<bool>> may_change(kMaxTensors);
    if (!is_empty(out)) may_change[out.block_of].resize(before_[out.block_of].size());
    const std::vector<uint8_t> unwritten(item, kPattern), zero(item, 0);
    std::vector<bool> bad;
    if (has_bad_index()) each_element(call_.tensors[2], [&](size_t at) { bad.push_back(is_bad(at)); });
    // Where inputs lie upon each other, an element may have all bits set.
    bool known = true;
    for (size_t i = 0; i < call_.tensors.size(); ++i) known = known && call_.tensors[i].block_of == i;
    size_t n = 0;
    each_element(out, [&](size_t at) {
        for (size_t b = at; b < at + item; ++b) may_change[out.block_of][b] = true;
        if (known && std::memcmp(first + at, unwritten.data(), item) == 0)
            fail(call_, "element " + std::to_string(n) + " of the output was not written");
        if (!bad.empty() && bad[n] && std::memcmp(first + at, zero.data(), item) != 0)
            fail(call_, "element " + std::to_string(n) + ", whose index is outside the plane, is not zero");
        ++n;
    });
    compare(may_change, "after the operator");
}

}  // namespace fuzz
