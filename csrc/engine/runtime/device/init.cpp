// The start and the end of a process's use of the engine.

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>

#include "engine/runtime/call/traced.h"
#include "engine/runtime/calling_thread.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/last_error.h"
#include "engine/runtime/fault/injection.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

enum class Phase { untouched, running, finalized, forked };

std::mutex phase_mutex;
std::atomic<Phase> phase{Phase::untouched};
bool banner_printed = false;

// A forked process ends without the exit handlers that it inherited: torch_npu's would join threads that only the parent has.
void end_forked(int status, void*) {
    if (phase != Phase::forked) return;
    std::fflush(nullptr);
    _exit(status);
}

// Adds the exit handler of a forked child. The parent adds it before each fork, so that it runs before all others. The child cannot always:
// if another thread of the parent held libc's lock of exit handlers during the fork, nothing in the child ever releases it, and on_exit
// would never return.
void before_fork() {
    if (phase == Phase::running) (void)on_exit(end_forked, nullptr);
}

void become_forked() {
    if (phase == Phase::running) phase = Phase::forked;
}

const int registered = pthread_atfork(before_fork, nullptr, become_forked);

// Finalizes for a program that does not call aclFinalize. Exit handlers of the program, such as the destructors of its static objects, run
// before.
void end_process(int status, void*) {
    if (phase < Phase::finalized) report_leaks("the end of the process, without aclFinalize", status != 0);
}

const int registered_end = on_exit(end_process, nullptr);

// The banner says that nobody should take the engine's numbers for an NPU's.
void print_banner() {
    if (banner_printed) return;
    banner_printed = true;
    std::fprintf(stderr, "torch_aclnn: this is the host engine, a CPU emulation that presents itself as %s with %d device%s; not an NPU\n",
                 config().soc_name.c_str(), device_count(), device_count() == 1 ? "" : "s");
    for (const std::string& name : unknown_variables())
        std::fprintf(stderr, "torch_aclnn: nothing reads the variable %s, which is set; `torch-aclnn info` tells which is alike\n",
                     name.c_str());
    if (!config().dry_run) return;
    std::fprintf(stderr,
                 "torch_aclnn: a dry run (TORCH_ACLNN_HOST_COMPUTE=0): only small known values are computed, all others read as 0\n");
}

size_t skip_blanks(const std::string& json, size_t at) {
    return json.find_first_not_of(" \t\r\n", at);
}

// Returns the position behind `"key" :`, or npos, which suffices for a file of two levels with distinct names.
size_t after_key(const std::string& json, const char* key, size_t from) {
    const std::string quoted = text('"', key, '"');
    const size_t found = json.find(quoted, from);
    if (found == std::string::npos) return found;
    const size_t colon = skip_blanks(json, found + quoted.size());
    return colon != std::string::npos && json[colon] == ':' ? skip_blanks(json, colon + 1) : std::string::npos;
}

// Reads the digits between two quotes.
std::optional<int> read_quoted_number(const std::string& json, size_t at) {
    constexpr size_t kMaxDigits = 3;
    if (at == std::string::npos || json[at] != '"') return std::nullopt;
    const std::string digits = json.substr(at + 1, json.find('"', at + 1) - at - 1);
    if (digits.empty() || digits.size() > kMaxDigits || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoi(digits);
}

// Takes over the default device, if the file that aclInit is given names one, as {"defaultDevice": {"default_device": "0"}}. A null or
// empty path is no file.
void apply_configuration_file(const char* path) {
    if (path == nullptr || *path == '\0') return;
    std::ifstream file(path);
    if (!file) refuse(ACL_ERROR_INVALID_PARAM, "configPath", "a readable file", text('"', path, '"'));
    const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const size_t object = after_key(json, "defaultDevice", 0);
    if (object == std::string::npos) return;
    constexpr char kParameter[] = "configPath's default_device";
    const auto number = read_quoted_number(json, after_key(json, "default_device", object));
    if (!number) refuse(ACL_ERROR_RT_INVALID_DEVICEID, kParameter, "the number of a device in quotes", "something else");
    (void)find_device(kParameter, *number);
    set_default_device(*number);
}

}  // namespace

bool finalized() noexcept {
    return phase.load(std::memory_order_relaxed) >= Phase::finalized;
}

const char* why_finalized() noexcept {
    return is_forked() ? "the process was forked from one that uses the devices; start it with \"spawn\" instead"
                       : "the process has called aclFinalize";
}

bool is_forked() noexcept {
    return phase.load(std::memory_order_relaxed) == Phase::forked;
}

void require_not_forked() {
    if (is_forked()) throw Error(ACL_ERROR_RT_CONTEXT_NULL, why_finalized());
}

bool initialized() noexcept {
    return phase.load(std::memory_order_relaxed) != Phase::untouched;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

// Only the default device of the configuration file matters: the rest are settings of dumps and profiling, which the engine does not have.
extern "C" aclError aclInit(const char* configPath) {
    const int refused = guarded(__func__, [] {
        require_valid_config();
        set_configured_faults();
        open_trace();
    });
    if (refused != ACL_SUCCESS) return refused;
    return traced(__func__, call_arguments("configPath", configPath), [&] {
        require_not_forked();
        std::lock_guard<std::mutex> lock(phase_mutex);
        if (phase == Phase::running) throw Error(ACL_ERROR_REPEAT_INITIALIZE, "the process has called it before without aclFinalize");
        apply_configuration_file(configPath);
        phase = Phase::running;
        print_banner();
    });
}

extern "C" aclError aclFinalize(void) {
    return traced(__func__, call_arguments(), [] {
        if (is_forked()) return;  // the parent ends what was begun before the fork
        std::lock_guard<std::mutex> lock(phase_mutex);
        if (phase == Phase::untouched) throw Error(ACL_ERROR_UNINITIALIZE, "aclInit has not been called");
        if (phase == Phase::finalized) throw Error(ACL_ERROR_REPEAT_FINALIZE, "the process has called it before without another aclInit");
        phase = Phase::finalized;
        report_leaks("aclFinalize");
    });
}
