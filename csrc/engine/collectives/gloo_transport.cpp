// The Transport that libhccl.so is given when this library is loaded. torch's Python binding is the only way to a ProcessGroupGloo with
// settings of its own, so torch_aclnn/host/collectives.py makes it; after that Python has no part in it.

#include <pybind11/pybind11.h>

#include <future>

#include "engine/collectives/gloo_group.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host {
namespace {

namespace py = pybind11;

constexpr const char* kModule = "torch_aclnn.host.collectives";

// Runs the body with Python's lock, on any thread.
auto in_python(int code, auto&& body) {
    if (!Py_IsInitialized()) throw Error(HCCL_E_NOT_SUPPORT, "collectives need a Python process");
    const py::gil_scoped_acquire lock;
    try {
        return body(py::module_::import(kModule));
    } catch (py::error_already_set& error) {
        throw Error(code, py::str(error.value()).cast<std::string>());
    }
}

// Returns the object behind torch's Python one.
template <class T>
c10::intrusive_ptr<T> shared(const py::object& object) {
    return c10::intrusive_ptr<T>::reclaim_copy(object.cast<T*>());
}

class GlooTransport : public Transport {
   public:
    std::string listen() override {
        return in_python(HCCL_E_SYSCALL, [](const py::module_& module) { return module.attr("listen")().cast<std::string>(); });
    }

    Meeting meeting_of_table(const std::string& path) override {
        return in_python(HCCL_E_PARA, [&](const py::module_& module) {
            const py::tuple meeting = module.attr("meeting_of_table")(path);
            return Meeting{meeting[0].cast<std::string>(), meeting[1].cast<uint32_t>()};
        });
    }

    void listen_at(const std::string& address) override {
        in_python(HCCL_E_SYSCALL, [&](const py::module_& module) { module.attr("listen_at")(address); });
    }

    std::unique_ptr<Group> connect(const Membership& membership) override {
        return in_python(HCCL_E_TCP_CONNECT, [&](const py::module_& module) {
            const py::tuple connected =
                module.attr("connect")(membership.address, membership.name, membership.rank, membership.size,
                                       membership.connect_timeout.count() / 1000.0, membership.timeout.count() / 1000.0);
            return std::make_unique<GlooGroup>(shared<c10d::Backend>(connected[0]), shared<c10d::Store>(connected[1]),
                                               connected[2].cast<int>(), membership.compare);
        });
    }

    // Each group waits for the others, so each has a thread, and the caller must not hold Python's lock meanwhile.
    std::vector<std::unique_ptr<Group>> connect_all(const std::vector<Membership>& memberships) override {
        std::optional<py::gil_scoped_release> release;
        if (Py_IsInitialized() && PyGILState_Check()) release.emplace();
        std::vector<std::future<std::unique_ptr<Group>>> connecting;
        for (const auto& membership : memberships)
            connecting.push_back(std::async(std::launch::async, [this, &membership] { return connect(membership); }));
        for (const auto& one : connecting) one.wait();
        std::vector<std::unique_ptr<Group>> groups;
        for (auto& one : connecting) groups.push_back(one.get());
        return groups;
    }
};

[[maybe_unused]] const bool registered = [] {
    static auto* const once = new GlooTransport;
    set_transport(once);
    return true;
}();

}  // namespace
}  // namespace torch_aclnn::host
