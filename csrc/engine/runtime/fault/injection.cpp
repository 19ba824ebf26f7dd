#include "engine/runtime/fault/injection.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/config/fault_specification.h"
#include "engine/runtime/error/code_table.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/lasting.h"
#include "hccl/hccl_types.h"
#include "torch_aclnn/faults.h"

namespace torch_aclnn::host {

std::atomic<bool> faults_set{false};

namespace {

struct CountedFault {
    Fault fault;
    uint64_t seen = 0;
    uint64_t happened = 0;

    // Counts one more call, and tells whether it is to fail.
    bool is_due() {
        ++seen;
        if (seen < fault.first || seen > fault.last || (seen - fault.first) % fault.step != 0) return false;
        ++happened;
        return true;
    }
};

struct State {
    std::mutex mutex;
    std::vector<CountedFault> faults;
    std::set<int> dead_streams;
    std::set<int> lost_devices;
    uint64_t happened = 0;
    int stream_code = kStreamDied;
    int device_code = kDeviceLost;
    std::string message;  // empty: the message that the fault has by itself
    int last_error = 0;
};

constexpr auto& state = lasting<State>;

bool is_allocation(const char* function) {
    for (const char* name : {"aclrtMalloc", "aclrtMallocAlign32", "aclrtMallocPhysical"})
        if (std::strcmp(function, name) == 0) return true;
    return false;
}

int code_of_call(const Fault& fault, const char* function) {
    if (fault.code != 0) return fault.code;
    if (is_allocation(function)) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    if (std::strncmp(function, "aclnn", 5) == 0) return ACLNN_ERR_INNER;
    return std::strncmp(function, "Hccl", 4) == 0 ? static_cast<int>(HCCL_E_INTERNAL) : kDriverFailed;
}

std::string reason(const Fault& fault) {
    return text("a fault was injected, as \"", fault.text, "\" asks");
}

void announce(State& now, const CountedFault& counted, const std::string& what) {
    ++now.happened;
    std::fprintf(stderr, "torch_aclnn: fault injection, \"%s\", number %llu: %s\n", counted.fault.text.c_str(),
                 static_cast<unsigned long long>(counted.seen), what.c_str());
}

// All faults count the call, and the first that is due happens.
CountedFault* first_due(State& now, const auto& is_meant) {
    CountedFault* due = nullptr;
    for (CountedFault& counted : now.faults)
        if (is_meant(counted.fault) && counted.is_due() && due == nullptr) due = &counted;
    return due;
}

void refuse_on_lost_device(const State& now, int device) {
    if (now.lost_devices.count(device) != 0) throw Error(now.device_code, text("device ", device, " is lost, as fault injection asked"));
}

void fail_call(const State& now, const char* function, const Fault& fault) {
    throw Error::with_last_error(code_of_call(fault, function), now.message.empty() ? reason(fault) : now.message, now.last_error);
}

// Does what a fault of the task's kind does beyond the one failure.
int code_of_task(State& now, const Fault& fault, int stream, int device) {
    if (fault.kind == FaultKind::stream) {
        now.dead_streams.insert(stream);
        return now.stream_code = fault.code != 0 ? fault.code : kStreamDied;
    }
    if (fault.kind == FaultKind::device) {
        now.lost_devices.insert(device);
        return now.device_code = fault.code != 0 ? fault.code : kDeviceLost;
    }
    return fault.code != 0 ? fault.code : ACL_ERROR_RT_AICORE_EXCEPTION;
}

void print_what_never_happened() {
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    for (const CountedFault& counted : now.faults)
        if (counted.happened == 0)
            std::fprintf(stderr, "torch_aclnn: TORCH_ACLNN_HOST_FAULT: \"%s\" never happened: there were %llu such calls\n",
                         counted.fault.text.c_str(), static_cast<unsigned long long>(counted.seen));
}

}  // namespace

void fail_asked_call(const char* function) {
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    refuse_on_lost_device(now, current_device_index());
    const CountedFault* due = first_due(now, [&](const Fault& fault) {
        return (fault.kind == FaultKind::call && matches(fault, function)) ||
               (fault.kind == FaultKind::allocation && is_allocation(function));
    });
    if (due == nullptr) return;
    announce(now, *due, text(function, " returns ", code_of_call(due->fault, function)));
    fail_call(now, function, due->fault);
}

void fail_asked_phase1(const char* entry_point) {
    fail_asked_call((std::string(entry_point) + "GetWorkspaceSize").c_str());
}

void fail_asked_task(const char* task, int stream, int device) {
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    refuse_on_lost_device(now, device);
    if (now.dead_streams.count(stream) != 0) throw Error(now.stream_code, text("stream ", stream, " is dead, as fault injection asked"));
    const CountedFault* due = first_due(now, [&](const Fault& fault) {
        return fault.kind == FaultKind::stream || fault.kind == FaultKind::device || (fault.kind == FaultKind::run && matches(fault, task));
    });
    if (due == nullptr) return;
    const int code = code_of_task(now, due->fault, stream, device);
    announce(now, *due, text(task, " fails with ", code, " on stream ", stream, " of device ", device));
    throw Error(code, reason(due->fault));
}

bool spoil_asked_result(const char* entry_point) {
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    const CountedFault* due =
        first_due(now, [&](const Fault& fault) { return fault.kind == FaultKind::result && matches(fault, entry_point); });
    if (due != nullptr) announce(now, *due, text(entry_point, " writes wrong values"));
    return due != nullptr;
}

bool is_asked_for_phase1(const char* entry_point) {
    const std::string function = std::string(entry_point) + "GetWorkspaceSize";
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    return std::any_of(now.faults.begin(), now.faults.end(), [&](const CountedFault& counted) {
        return counted.fault.kind == FaultKind::call && matches(counted.fault, function.c_str());
    });
}

void set_faults(const char* text) {
    const std::vector<Fault> faults = parse_faults(text != nullptr ? text : "");
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    now.faults.clear();
    for (const Fault& fault : faults) now.faults.push_back({fault});
    now.dead_streams.clear();
    now.lost_devices.clear();
    now.happened = 0;
    now.message.clear();
    now.last_error = 0;
    faults_set = !faults.empty();
}

void set_configured_faults() {
    static const bool once = [] {
        if (config().faults.empty()) return false;
        set_faults(config().faults.c_str());
        return std::atexit(print_what_never_happened) == 0;
    }();
    (void)once;
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError torchAclnnHostSetFaults(const char* faults) {
    return guarded(__func__, [&] { set_faults(faults); });
}

extern "C" aclError torchAclnnHostSetFaultError(const char* message, int lastError) {
    return guarded(__func__, [&] {
        State& now = state();
        const std::lock_guard<std::mutex> lock(now.mutex);
        now.message = message != nullptr ? message : "";
        now.last_error = lastError;
    });
}

extern "C" uint64_t torchAclnnHostInjectedFaults(void) {
    State& now = state();
    const std::lock_guard<std::mutex> lock(now.mutex);
    return now.happened;
}
