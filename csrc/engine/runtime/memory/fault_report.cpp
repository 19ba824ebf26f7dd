#include "engine/runtime/memory/fault_report.h"

#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/diagnostics/signal_text.h"
#include "engine/runtime/memory/device_addresses.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/memory_history.h"

namespace torch_aclnn::host {

static struct sigaction previous_segv, previous_bus;
static std::atomic<long> reporting_thread{0};

// Returns where the program was when the signal came, as a stack has it; null on machines of which this is not known.
static void* interrupted_at([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
    return reinterpret_cast<void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
    return nullptr;
#endif
}

// Returns the kind of access, where the machine tells it.
static const char* access_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
    constexpr long long kWrite = 2;
    const bool is_write = (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
    return is_write ? "wrote to" : "read";
#else
    return "touched";
#endif
}

static void report_place(SignalText& text, uintptr_t address, const MemoryRecord* record) {
    text.add("torch_aclnn: ").add_address(address);
    if (record == nullptr) {
        text.add(" is in front of all allocations\n").flush();
        return;
    }
    const size_t offset = address - record->begin;
    if (offset < record->size)
        text.add(" is at offset ").add(offset).add(" of ");
    else
        text.add(" is ").add(offset - record->size).add(" bytes behind the end of ");
    text.add(record->is_freed ? "memory that was freed, " : "an allocation of ").add(record->size).add(" bytes on device ");
    text.add(static_cast<size_t>(record->device));
    text.add(", ").add_address(record->begin).add(" to ").add_address(record->begin + record->size).add("\n").flush();
    text.add("torch_aclnn: allocated by ").add(record->made_by).add(", called from\n").flush();
    record->made_at.print(STDERR_FILENO);
    if (!record->is_freed) return;
    text.add("torch_aclnn: freed by\n").flush();
    record->freed_at.print(STDERR_FILENO);
}

// Returns false if the attempt has not succeeded within a second. A handler cannot wait for a lock, which its own thread may hold.
static bool try_for_a_while(auto&& attempt) {
    constexpr timespec kMillisecond{0, 1000000};
    for (int i = 0; i < 1000; ++i) {
        if (attempt()) return true;
        (void)nanosleep(&kMillisecond, nullptr);
    }
    return false;
}

static void report_record(SignalText& text, uintptr_t address) {
    const auto report = [&](const MemoryRecord* record) { report_place(text, address, record); };
    if (try_for_a_while([&] { return memory_history().try_find(address, report); })) return;
    text.add("torch_aclnn: the allocations are being changed, so nothing can be said of ").add_address(address).add("\n").flush();
}

// Prints the stack without the functions that handle the signal. Where the engine caused the fault, its own functions come first.
static void report_stack(const void* context) {
    std::array<void*, 48> frames;
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    const auto end = frames.begin() + count;
    const auto found = std::find(frames.begin(), end, interrupted_at(context));
    const auto begin = found == end ? frames.begin() : found;
    print_frames(STDERR_FILENO, &*begin, static_cast<int>(end - begin), found != end);
}

static void report(uintptr_t address, bool by_engine, const void* context) {
    SignalText text;
    text.add("torch_aclnn: ")
        .add(by_engine ? "the engine " : "host code ")
        .add(access_of(context))
        .add(" device memory at ")
        .add_address(address);
    text.add(config().dry_run ? ", which is addresses alone in a dry run (TORCH_ACLNN_HOST_COMPUTE=0)\n"
             : by_engine ? ", where there is none\n"
                         : "\ntorch_aclnn: the program has no access to it (TORCH_ACLNN_HOST_MODE=isolate); aclrtMemcpy copies it, and in "
                           "Python tensor.cpu()\n");
    text.flush();
    report_record(text, address);
    text.add("torch_aclnn: the access came from\n").flush();
    print_python_stack(STDERR_FILENO);
    report_stack(context);
    add_finding("access to device memory");
}

// Passes the signal on as if this handler were not there. Without another handler the process ends, by the same fault again or by the same
// signal.
static void pass_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction& previous = signal == SIGBUS ? previous_bus : previous_segv;
    if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
    std::signal(signal, SIG_DFL);
    if (info->si_code <= 0) (void)raise(signal);  // another process sent it
}

// Lets one thread report at a time. Returns false if this thread is reporting, and has failed in it.
static bool begin_report() {
    const long thread = syscall(SYS_gettid);
    long other = 0;
    (void)try_for_a_while([&] { return reporting_thread.compare_exchange_strong(other = 0, thread) || other == thread; });
    return other == 0;
}

static void handle(int signal, siginfo_t* info, void* context) {
    auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    const bool by_engine = device_range.contains(address - device_range.distance.load(std::memory_order_relaxed));
    const bool is_ours = info->si_code > 0 && (by_engine || device_range.contains(address));
    if (is_ours && begin_report()) {
        if (by_engine) address -= device_range.distance.load(std::memory_order_relaxed);
        report(address, by_engine, context);
        reporting_thread = 0;
    }
    pass_on(signal, info, context);
}

static void install() {
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGSEGV, &action, &previous_segv);
    (void)sigaction(SIGBUS, &action, &previous_bus);
}

void install_fault_reports_if_wanted() {
    static std::once_flag once;
    if (all_addresses_are_in_range()) std::call_once(once, install);
}

}  // namespace torch_aclnn::host
