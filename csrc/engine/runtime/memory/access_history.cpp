#include "engine/runtime/memory/access_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace torch_aclnn::host {

std::atomic<void (*)(const void* memory, size_t bytes)> memory_listener{nullptr};

void AccessHistory::add(uintptr_t begin, size_t bytes, const MemoryTouch& touch, const std::function<void(const MemoryTouch&)>& compare) {
    const uintptr_t end = begin + bytes;
    split_at(begin);
    split_at(end);
    const auto first = ranges_.lower_bound(begin), last = ranges_.lower_bound(end);
    for (auto range = first; range != last; ++range)
        for (const MemoryTouch& earlier : range->second.touches)
            if (earlier.is_write || touch.is_write) compare(earlier);
    if (touch.is_write) {
        ranges_.erase(first, last);
        ranges_.emplace(begin, Range{end, {touch}});
        return;
    }
    uintptr_t covered = begin;
    std::vector<std::pair<uintptr_t, Range>> gaps;
    for (auto range = first; range != last; ++range) {
        if (covered < range->first) gaps.push_back({covered, {range->first, {touch}}});
        add_read(range->second.touches, touch);
        covered = range->second.end;
    }
    if (covered < end) gaps.push_back({covered, {end, {touch}}});
    ranges_.insert(gaps.begin(), gaps.end());
}

void AccessHistory::forget(uintptr_t begin, size_t bytes) {
    split_at(begin);
    split_at(begin + bytes);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(begin + bytes));
}

void AccessHistory::split_at(uintptr_t address) {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return;
    range = std::prev(range);
    if (range->first == address || range->second.end <= address) return;
    ranges_.emplace(address, range->second);
    range->second.end = address;
}

void AccessHistory::add_read(std::vector<MemoryTouch>& touches, const MemoryTouch& read) {
    const auto same = std::find_if(touches.begin(), touches.end(),
                                   [&](const MemoryTouch& touch) { return !touch.is_write && touch.stream == read.stream; });
    if (same != touches.end())
        *same = read;
    else
        touches.push_back(read);
}

}  // namespace torch_aclnn::host
