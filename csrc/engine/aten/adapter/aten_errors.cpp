#include "engine/aten/adapter/aten_errors.h"

#include <string_view>

namespace torch_aclnn::host::aten {

std::string without_requests(std::string text) {
    constexpr std::string_view kAssert = " INTERNAL ASSERT FAILED at ", kReport = "please report a bug to PyTorch.";
    if (const size_t assert = text.find(kAssert); assert != text.npos) {
        const size_t report = text.find(kReport, assert);
        const std::string details = report == text.npos ? "" : text.substr(report + kReport.size());
        text = "arguments of which " + text.substr(0, assert) + " holds are required." + details;
    }
    // ATen may quote one error in the text of another one, with the backtrace behind it.
    if (const size_t raised = text.find("\nException raised from "); raised != text.npos) text.resize(raised);
    if (const size_t request = text.find(" (Could this error message be improved?"); request != text.npos) text.resize(request);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

}  // namespace torch_aclnn::host::aten
