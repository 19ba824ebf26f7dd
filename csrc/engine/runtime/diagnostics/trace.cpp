#include "engine/runtime/diagnostics/trace.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/task_watch.h"
#include "engine/runtime/diagnostics/trace_file.h"
#include "engine/runtime/error/last_error.h"
#include "torch_aclnn/dry_run.h"

namespace torch_aclnn::host {

std::atomic<bool> trace_is_open{false};
std::atomic<bool> tasks_are_watched{false};

static std::atomic<void (*)(const EndedTask&)> task_watcher{nullptr};
static std::atomic<bool> trace_was_opened{false};

constexpr int kFormat = 1;  // the version of the lines' format
constexpr int64_t kNanoseconds = 1'000'000'000;

// These are plain numbers, because calls still come while the process exits, when a thread's objects with destructors are gone.
static thread_local int traced_calls = 0;      // calls that have begun and not ended
static thread_local uint64_t task_number = 0;  // the number of the running task

static int64_t nanoseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * kNanoseconds + now.tv_nsec;
}

static int64_t opened_at() {
    static const int64_t opened = nanoseconds(CLOCK_MONOTONIC);
    return opened;
}

static std::string seconds(int64_t nanoseconds) {
    char number[32];
    std::snprintf(number, sizeof number, "%lld.%09lld", static_cast<long long>(nanoseconds / kNanoseconds),
                  static_cast<long long>(nanoseconds % kNanoseconds));
    return number;
}

static JsonObject line_of(const char* kind, int64_t time) {
    JsonObject line;
    line.add("kind", kind).add_json("time", seconds(time)).add("pid", getpid()).add("thread", syscall(SYS_gettid));
    return line;
}

static void write(const JsonObject& line) {
    if (!write_trace_line(line.text() + '\n')) trace_is_open = false;
}

// The line has the time from which the process counts, so that the times of several processes can be brought together.
static std::string process_line() {
    JsonObject line = line_of("process", trace_clock());
    line.add("format", kFormat).add_json("unix_time", seconds(nanoseconds(CLOCK_REALTIME) - trace_clock()));
    if (const char* const rank = std::getenv("RANK")) line.add("rank", rank);
    return line.text() + '\n';
}

static void add_place(JsonObject& line, int device, int stream) {
    if (device >= 0) line.add("device", device);
    if (stream >= 0) line.add("stream", stream);
}

static void add_end(JsonObject& line, int64_t duration, int code, const char* message) {
    line.add_json("duration", seconds(duration)).add("code", code);
    if (code != ACL_SUCCESS) line.add("message", message);
}

static JsonObject call_line(int64_t begin, int64_t end, const char* function, int code, const TraceDetails& details) {
    JsonObject line = line_of("call", begin);
    line.add("name", function);
    if (details.phase != 0) line.add("phase", details.phase);
    if (details.number != 0) line.add("call", details.number);
    add_place(line, details.device >= 0 ? details.device : current_device_index(), details.stream);
    add_end(line, end - begin, code, recent_message());
    line.add_json("arguments", details.arguments.text());
    return line;
}

static JsonObject task_line(const char* name, int device, int stream, int64_t begin, int code, const char* message) {
    const int64_t end = trace_clock();
    JsonObject line = line_of("task", begin != 0 ? begin : end);
    line.add("name", name);
    if (task_number != 0) line.add("call", task_number);
    add_place(line, device, stream);
    if (begin == 0) line.add("skipped", true);
    add_end(line, begin != 0 ? end - begin : 0, code, message);
    return line;
}

// Writes an error as a line, unless it belongs to a call whose line will have it.
static void trace_error(const char* message) noexcept {
    if (tracing() && traced_calls == 0) trace_message("error", message);
}

// A line for which there is no memory is no reason to fail.
static void write_line(auto&& make) noexcept {
    try {
        write(make());
    } catch (...) {
    }
}

int64_t trace_clock() noexcept {
    const int64_t opened = opened_at();
    return nanoseconds(CLOCK_MONOTONIC) - opened + 1;
}

// A trace that ended because the disk was full does not begin again.
void open_trace() {
    if (config().trace.empty() || trace_was_opened) return;
    open_trace_file(process_line);
    trace_was_opened = true;
    error_listener = trace_error;
    trace_is_open = true;
    tasks_are_watched = true;
}

void watch_tasks(void (*watcher)(const EndedTask&)) noexcept {
    task_watcher = watcher;
    tasks_are_watched = tracing() || watcher != nullptr;
}

int64_t begin_traced_call() noexcept {
    ++traced_calls;
    return trace_clock();
}

void end_traced_call(int64_t begin, const char* function, int code, const TraceDetails& details) noexcept {
    const int64_t end = trace_clock();
    --traced_calls;
    write_line([&] { return call_line(begin, end, function, code, details); });
}

void trace_task(const char* name, int device, int stream, int64_t begin, int code, const char* message) noexcept {
    if (tracing()) write_line([&] { return task_line(name, device, stream, begin, code, message); });
    task_number = 0;
    const auto watcher = task_watcher.load();
    if (watcher == nullptr || begin == 0) return;
    const int64_t end = nanoseconds(CLOCK_REALTIME);
    watcher({name, device, stream, end - (trace_clock() - begin), end});
}

void set_traced_task(uint64_t number) noexcept {
    task_number = number;
}

void trace_message(const char* kind, const char* message) noexcept {
    write_line([&] { return line_of(kind, trace_clock()).add("message", message); });
}

}  // namespace torch_aclnn::host

extern "C" TORCH_ACLNN_HOST_API void torchAclnnHostResumeTrace(int resume) {
    using namespace torch_aclnn::host;
    trace_is_open = resume != 0 && trace_was_opened;
}
