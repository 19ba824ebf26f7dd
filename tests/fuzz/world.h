// What a call's specifications become: memory that is watched, and handles.
#pragma once

#include <string>

#include "contract.h"

namespace fuzz {

// Ends the process with what was expected and the call, for the fuzzer to keep its input.
[[noreturn]] void fail(const Call& call, const std::string& what);

// The allocations of a call's tensors.
class Blocks {
   public:
    explicit Blocks(const Call& call);
    ~Blocks();
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;

    void* data(size_t tensor) const;  // the tensor's storage
    uint8_t* block(size_t tensor) const { return blocks_[call_.tensors[tensor].block_of]; }
    // Writes what inputs hold, and a pattern over everything else.
    void fill();
    void free(size_t tensor);
    // Gives the output an allocation of its own, like the one that it has.
    void move_output();

    // Nothing has changed.
    void require_untouched(const char* when) const;
    // Nothing has changed but the output's elements, all of which have been written.
    void require_written_once() const;
    // For an unpooling: an index outside the plane is an element of `indices`.
    bool has_bad_index() const;

   private:
    bool is_there(size_t owner) const;  // whether its memory can be read and written
    uint8_t* allocate(size_t owner);
    void release(size_t tensor);
    void compare(const std::vector<std::vector<bool>>& may_change, const char* when) const;
    bool is_bad(size_t at) const;

    const Call& call_;
    std::array<uint8_t*, kMaxTensors> blocks_{};
    std::array<bool, kMaxTensors> is_guarded_{};
    uint8_t* moved_from_ = nullptr;
    std::array<std::vector<uint8_t>, kMaxTensors> before_;
};

// The handles of a call, and those that are none.
class Handles {
   public:
    Handles(const Call& call, const Blocks& blocks);
    ~Handles();
    Handles(const Handles&) = delete;
    Handles& operator=(const Handles&) = delete;

    const Arguments& arguments() const { return arguments_; }
    void destroy_tensor(size_t i);
    void destroy_array(size_t i);

    // An address that is no live handle of any kind.
    static void* foreign(size_t choice);

   private:
    const Call& call_;
    Arguments arguments_;
    std::array<bool, kMaxTensors> owns_tensor_{};
    std::array<bool, kMaxArrays> owns_array_{};
};

}  // namespace fuzz
