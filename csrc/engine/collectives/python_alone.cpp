// What torch_aclnn/loading/rank_alone.py puts into torch.

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <cctype>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/collectives/backend_alone.h"
#include "engine/runtime/error/error.h"
#include "hccl/hccl.h"

namespace torch_aclnn::host {
namespace {

namespace py = pybind11;

// The key under which torch_npu's process groups keep what they exchange: root information under a number or devices, and the version they
// have.
constexpr const char* kOfTorchNpu = "/npu//";
constexpr const char* kVersion = "version_key";

bool is_digit(char character) {
    return std::isdigit(static_cast<unsigned char>(character)) != 0;
}

// Returns the key with each of its numbers left out in turn, beginning with the last.
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

// torch's store where no other rank writes into it. Each rank is taken to do what this one does: a counter is that of all of them, and a
// key of another rank has what this one has written under its own. Nobody is waited for.
class StoreAlone : public c10d::HashStore {
   public:
    explicit StoreAlone(int64_t ranks) : ranks_(ranks) {}

    using c10d::Store::set;
    void set(const std::string& key, const std::vector<uint8_t>& value) override;
    // Throws an error that names the key, if no other rank would have it from what this one does.
    std::vector<uint8_t> get(const std::string& key) override;
    std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
    int64_t add(const std::string& key, int64_t value) override { return HashStore::add(key, value * ranks_); }
    void wait(const std::vector<std::string>&) override {}
    void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) override {}

   private:
    const int64_t ranks_;
    std::mutex mutex_;
    // The values are kept by the key without one of its numbers, because any of them may be the rank.
    std::map<std::string, std::vector<uint8_t>> by_pattern_;
};

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

c10::intrusive_ptr<BackendAlone> make_backend(const py::object&, int rank, int size, std::chrono::milliseconds timeout) {
    return c10::make_intrusive<BackendAlone>(rank, size, timeout);
}

void define(py::module_& module) {
    module.def("store", [](int64_t ranks) -> c10::intrusive_ptr<c10d::Store> { return c10::make_intrusive<StoreAlone>(ranks); });
    py::class_<BackendAlone, c10d::Backend, c10::intrusive_ptr<BackendAlone>>(module, "ProcessGroup")
        .def(py::init(&make_backend), py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"))
        .def_property_readonly("options", &BackendAlone::options);
}

}  // namespace
}  // namespace torch_aclnn::host

// Adds to the module what stands in for other ranks. Returns null, with Python's error set, if that fails.
extern "C" __attribute__((visibility("default"))) PyObject* torchAclnnHostDefineRankAlone(PyObject* module) {
    try {
        auto target = pybind11::reinterpret_borrow<pybind11::module_>(module);
        torch_aclnn::host::define(target);
        return target.release().ptr();
    } catch (pybind11::error_already_set& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}
