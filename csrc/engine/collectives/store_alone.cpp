#include "engine/collectives/store_alone.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "engine/runtime/error/error.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

// Where torch_npu's process groups keep what they exchange: root information under a number or devices, and the version they have.
constexpr const char* kOfTorchNpu = "/npu//";
constexpr const char* kVersion = "version_key";

bool is_digit(char character) {
    return std::isdigit(static_cast<unsigned char>(character)) != 0;
}

// The key with each of its numbers left out in turn, beginning with the last.
std::vector<std::string> patterns_of(const std::string& key) {
    std::vector<std::string> patterns;
    for (size_t end = key.size(); end > 0; --end) {
        if (!is_digit(key[end - 1])) continue;
        size_t begin = end;
        while (begin > 0 && is_digit(key[begin - 1])) --begin;
        patterns.push_back(key.substr(0, begin) + '#' + key.substr(end));
        end = begin + 1;
    }
    return patterns;
}

std::vector<uint8_t> root_information() {
    HcclRootInfo info;
    if (HcclGetRootInfo(&info) != HCCL_SUCCESS) throw Error(HCCL_E_INTERNAL, "no root information");
    std::vector<uint8_t> bytes(sizeof info);
    std::memcpy(bytes.data(), &info, sizeof info);
    return bytes;
}

}  // namespace

void StoreAlone::set(const std::string& key, const std::vector<uint8_t>& value) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& pattern : patterns_of(key)) by_pattern_[pattern] = value;
    }
    HashStore::set(key, value);
}

std::vector<uint8_t> StoreAlone::get(const std::string& key) {
    if (check({key})) return HashStore::get(key);
    if (const size_t at = key.find(kOfTorchNpu); at != std::string::npos) {
        if (key.find(kVersion, at) != std::string::npos) return {};
        return root_information();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& pattern : patterns_of(key))
        if (const auto found = by_pattern_.find(pattern); found != by_pattern_.end()) return found->second;
    TORCH_CHECK(false, "TORCH_ACLNN_HOST_RANK_ALONE: the store's key ", key, " is written by another rank, which is not there");
}

std::vector<std::vector<uint8_t>> StoreAlone::multiGet(const std::vector<std::string>& keys) {
    std::vector<std::vector<uint8_t>> values;
    for (const auto& key : keys) values.push_back(get(key));
    return values;
}

}  // namespace torch_aclnn::host
