// A file that is held in memory, of which memory is made that other processes may use: one for each process, because a process may not have
// thousands of files open. Others open it by the process's number, so there is nothing to clean up when the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace torch_aclnn::host {

class MemoryFile {
   public:
    explicit MemoryFile(int file) : file_(file) {}
    MemoryFile(const MemoryFile&) = delete;
    ~MemoryFile();

    // Returns the calling process's file, which is made with its first memory.
    static const std::shared_ptr<MemoryFile>& own();
    // Returns another process's file; 107000 if it has none, has ended, or is another user's.
    static std::shared_ptr<MemoryFile> of(const char* parameter, int process);

    // Returns the offset of fresh memory, of whole pages, which no other memory ever has; 207001 if the machine refuses.
    int64_t extend(size_t size);
    void give_back(int64_t offset, size_t size) noexcept;
    // Returns false if the machine refuses.
    bool map(void* address, int64_t offset, size_t size) const noexcept;
    bool read(int64_t offset, void* content, size_t size) const noexcept;
    bool write(int64_t offset, const void* content, size_t size) const noexcept;

   private:
    std::mutex mutex_;
    int file_;  // -1 before the first memory
    int64_t end_ = 0;
};

}  // namespace torch_aclnn::host
