#pragma once

#include <c10/util/Exception.h>

#include <system_error>

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

// Returns the text of an internal error of ATen without its request to report a bug to PyTorch.
std::string without_requests(std::string text);

// Every function of ATen is called within this one. `fail` throws an Error of a text without a backtrace; it is told whether a number did
// not fit into a type, of which ATen does not say which.
void calling_aten(const auto& function, const auto& fail) {
    try {
        function();
    } catch (const Error&) {
        throw;
    } catch (const std::system_error&) {
        throw;
    } catch (const c10::Error& error) {
        fail(without_requests(error.what_without_backtrace()), false);
    } catch (const std::logic_error&) {  // thrown by a container of the standard library
        fail("the arguments do not fit each other, or one is out of the operator's range", false);
    } catch (const std::runtime_error& error) {
        fail(error.what(), true);
    }
}

}  // namespace torch_aclnn::host::aten
