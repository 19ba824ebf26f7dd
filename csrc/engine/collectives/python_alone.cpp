// What torch_aclnn/loading/rank_alone.py puts into torch.

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/collectives/backend_alone.h"
#include "engine/collectives/store_alone.h"

namespace torch_aclnn::host {
namespace {

namespace py = pybind11;

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

// Adds to the module what stands in for other ranks; null, with Python's error set, if that fails.
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
