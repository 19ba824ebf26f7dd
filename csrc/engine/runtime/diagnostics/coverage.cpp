#include "engine/runtime/diagnostics/coverage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>
#include <unordered_set>

namespace torch_aclnn::host {
namespace {

// torch_aclnn/command/coverage.py reads these.
struct Record {
    std::atomic<uint32_t> kind;
    char name[116];
    std::atomic<uint64_t> calls;
};
static_assert(sizeof(Record) == 128 && std::atomic<uint64_t>::is_always_lock_free);

constexpr size_t kRecords = 4096;
constexpr uint32_t kBeingWritten = UINT32_MAX;

struct Files {
    Record* records = nullptr;
    std::string log;
};

// A forked process goes on in its parent's files, and one that replaces another (exec) in its predecessor's.
Files open_files() {
    const char* const directory = std::getenv("TORCH_ACLNN_HOST_COVERAGE");
    if (directory == nullptr || *directory == '\0') return {};
    const std::string path = directory;
    Files files{nullptr, path + "/log"};
    const int calls = open((path + "/" + std::to_string(getpid()) + ".calls").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    constexpr size_t bytes = kRecords * sizeof(Record);
    if (calls >= 0 && ftruncate(calls, bytes) == 0) {
        void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, calls, 0);
        if (mapped != MAP_FAILED) files.records = static_cast<Record*>(mapped);
    }
    if (calls >= 0) close(calls);
    if (files.records == nullptr)
        std::fprintf(stderr, "torch_aclnn: TORCH_ACLNN_HOST_COVERAGE: cannot write in \"%s\"; the report will be incomplete\n", directory);
    return files;
}

void listen_to_warnings();

const Files& files() {
    static const Files opened = [] {
        Files found = open_files();
        if (found.records != nullptr) listen_to_warnings();
        return found;
    }();
    return opened;
}

// Finds the record or takes a free one. If two processes take one for the same name at once, each gets its own; the reader adds them.
std::atomic<uint64_t>* find_or_add(Record* records, uint32_t kind, std::string_view name) {
    name = name.substr(0, sizeof(Record::name) - 1);
    for (Record* record = records; record < records + kRecords; ++record) {
        uint32_t found = record->kind.load(std::memory_order_acquire);
        if (found == 0 && record->kind.compare_exchange_strong(found, kBeingWritten)) {
            std::memcpy(record->name, name.data(), name.size());
            record->kind.store(kind, std::memory_order_release);
            return &record->calls;
        }
        if (found == kind && name == record->name) return &record->calls;
    }
    return nullptr;
}

// torch_npu says in a warning on std::cerr what it computes on the CPU. The file descriptor behind it may lead anywhere, into a file of
// pytest for instance.
class WarningListener final : public std::streambuf {
   public:
    explicit WarningListener(std::streambuf* target) : target_(target) {}

   private:
    std::streamsize xsputn(const char* text, std::streamsize size) override {
        const std::string_view words(text, static_cast<size_t>(size));
        const bool falls_back = words.find("fall back") != std::string_view::npos || words.find("fallback") != std::string_view::npos;
        if (falls_back && words.find("CPU") != std::string_view::npos) coverage_log(std::string(words).c_str());
        return target_->sputn(text, size);
    }
    int_type overflow(int_type character) override {
        const bool is_end = traits_type::eq_int_type(character, traits_type::eof());
        return is_end ? traits_type::not_eof(character) : target_->sputc(traits_type::to_char_type(character));
    }
    int sync() override { return target_->pubsync(); }

    std::streambuf* const target_;
};

// The listener is never destroyed, because warnings still come while the process exits.
void listen_to_warnings() {
    static const std::ios_base::Init streams;  // initialises the streams, because the library may be loaded before any other that uses them
    std::cerr.rdbuf(new WarningListener(std::cerr.rdbuf()));
}

}  // namespace

bool covering() noexcept {
    return files().records != nullptr;
}

std::atomic<uint64_t>* coverage_counter(CoverageKind kind, const char* name) noexcept {
    return covering() ? find_or_add(files().records, static_cast<uint32_t>(kind), name) : nullptr;
}

void coverage_log(const char* message) noexcept {
    if (!covering()) return;
    static auto* const mutex = new std::mutex;
    static auto* const seen = new std::unordered_set<size_t>;
    try {
        const std::string line = std::string(message) + '\n';
        std::lock_guard<std::mutex> lock(*mutex);
        if (!seen->insert(std::hash<std::string>()(line)).second) return;
        // The file is opened for each line, of which there are few, because the program may close descriptors that it does not know.
        const int log = open(files().log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (log < 0) return;
        [[maybe_unused]] const ssize_t written = write(log, line.data(), line.size());
        close(log);
    } catch (...) {
        // A lost line is no reason to fail.
    }
}

}  // namespace torch_aclnn::host
