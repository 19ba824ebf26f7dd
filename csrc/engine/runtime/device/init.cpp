// The start and the end of a process's use of the engine.

#include <atomic>
#include <cstdio>
#include <mutex>

#include "engine/runtime/config/config.h"
#include "engine/runtime/config/configuration_file.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"

namespace torch_aclnn::host {
namespace {

enum class Phase { untouched, running, finalized };

std::mutex phase_mutex;
std::atomic<Phase> phase{Phase::untouched};
std::atomic<void (*)()> leak_report{nullptr};
bool introduced = false;

// Nobody may take the engine's numbers for an NPU's.
void introduce() {
    if (introduced) return;
    introduced = true;
    std::fprintf(stderr, "torch_aclnn: this is the host engine, a CPU emulation that presents itself as %s with %d device%s; not an NPU\n",
                 config().soc_name.c_str(), device_count(), device_count() == 1 ? "" : "s");
}

}  // namespace

bool finalized() noexcept {
    return phase.load(std::memory_order_relaxed) == Phase::finalized;
}

void set_leak_report(void (*report)()) noexcept {
    leak_report = report;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Of the configuration file only the default device matters: the rest are settings of dumps and profiling, which the engine does
// not have.
extern "C" aclError aclInit(const char* configPath) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (!config_problem().empty()) return fail(ACL_ERROR_INVALID_PARAM, config_problem());
            std::lock_guard<std::mutex> lock(phase_mutex);
            if (phase == Phase::running) {
                return fail(ACL_ERROR_REPEAT_INITIALIZE, text(function, ": the process has called it before without aclFinalize"));
            }
            if (aclError code = apply_configuration(function, configPath)) return code;
            phase = Phase::running;
            introduce();
            return ACL_SUCCESS;
        },
        [&] { return text(configPath != nullptr ? configPath : "null"); });
}

extern "C" aclError aclFinalize(void) {
    return traced(
        __func__,
        [](const char* function) -> aclError {
            std::lock_guard<std::mutex> lock(phase_mutex);
            if (phase == Phase::untouched) return fail(ACL_ERROR_UNINITIALIZE, text(function, ": aclInit has not been called"));
            if (phase == Phase::finalized) {
                return fail(ACL_ERROR_REPEAT_FINALIZE, text(function, ": the process has called it before without another aclInit"));
            }
            phase = Phase::finalized;
            if (config().list_leaks && leak_report != nullptr) leak_report.load()();
            return ACL_SUCCESS;
        },
        [] { return ""; });
}
