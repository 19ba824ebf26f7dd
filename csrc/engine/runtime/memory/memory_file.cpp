#include "engine/runtime/memory/memory_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <map>

#include "engine/runtime/config/config.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {
namespace {

std::string name_of(int process) {
    return text("torch_aclnn.", process);
}

struct CloseFolder {
    void operator()(DIR* folder) const noexcept { closedir(folder); }
};

bool is_link_to(const std::string& path, const std::string& target) {
    char found[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), found, sizeof(found));
    return length == static_cast<ssize_t>(target.size()) && target.compare(0, target.size(), found, target.size()) == 0;
}

// Opens the file of another process among those that it has open; -1 if there is none that this process may open.
int open_of(int process) {
    const std::string files = text("/proc/", process, "/fd/"), target = text("/memfd:", name_of(process), " (deleted)");
    const std::unique_ptr<DIR, CloseFolder> folder(opendir(files.c_str()));
    if (folder == nullptr) return -1;
    while (const dirent* entry = readdir(folder.get())) {
        const std::string path = files + entry->d_name;
        if (is_link_to(path, target)) return open(path.c_str(), O_RDWR | O_CLOEXEC);
    }
    return -1;
}

// The files of other processes that are in use, by their inodes.
std::shared_ptr<MemoryFile> opened_once(int file) {
    static auto* const mutex = new std::mutex;
    static auto* const files = new std::map<ino_t, std::weak_ptr<MemoryFile>>;
    auto made = std::make_shared<MemoryFile>(file);
    struct stat status{};
    if (fstat(file, &status) != 0) return made;
    const std::lock_guard<std::mutex> lock(*mutex);
    auto& known = (*files)[status.st_ino];
    if (auto found = known.lock()) return found;
    known = made;
    return made;
}

// pread and pwrite may end early.
bool transfer_all(auto transfer, int file, auto* content, size_t size, int64_t offset) {
    while (size > 0) {
        const ssize_t done = transfer(file, content, size, static_cast<off_t>(offset));
        if (done <= 0) return false;
        content += done;
        offset += done;
        size -= static_cast<size_t>(done);
    }
    return true;
}

}  // namespace

MemoryFile::~MemoryFile() {
    if (file_ >= 0) close(file_);
}

// The file is never closed, because memory is still unmapped while the process exits.
const std::shared_ptr<MemoryFile>& MemoryFile::own() {
    static const auto* const once = new std::shared_ptr<MemoryFile>(std::make_shared<MemoryFile>(-1));
    return *once;
}

std::shared_ptr<MemoryFile> MemoryFile::of(const char* parameter, int process) {
    if (process == getpid()) return own();
    const int file = open_of(process);
    if (file >= 0) return opened_once(file);
    refuse(ACL_ERROR_RT_PARAM_INVALID, parameter, "memory of a live process of this user, in the same container",
           text("process ", process, ", whose memory cannot be opened"));
}

int64_t MemoryFile::extend(size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (file_ < 0) file_ = memfd_create(name_of(getpid()).c_str(), MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(end_ + static_cast<int64_t>(size))) != 0)
        throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION, text("the machine is out of memory: asked for ", size, " bytes"));
    const int64_t offset = end_;
    end_ += static_cast<int64_t>(size);
    return offset;
}

void MemoryFile::give_back(int64_t offset, size_t size) noexcept {
    (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
}

bool MemoryFile::map(void* address, int64_t offset, size_t size) const noexcept {
    const int access = config().dry_run ? PROT_NONE : PROT_READ | PROT_WRITE;
    return mmap(address, size, access, MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(offset)) != MAP_FAILED;
}

bool MemoryFile::read(int64_t offset, void* content, size_t size) const noexcept {
    return transfer_all(pread, file_, static_cast<char*>(content), size, offset);
}

bool MemoryFile::write(int64_t offset, const void* content, size_t size) const noexcept {
    return transfer_all(pwrite, file_, static_cast<const char*>(content), size, offset);
}

}  // namespace torch_aclnn::host
