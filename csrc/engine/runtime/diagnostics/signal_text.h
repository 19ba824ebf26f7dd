// Text that is put together within a signal handler, where nothing can be allocated.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "engine/runtime/diagnostics/call_stack.h"

namespace torch_aclnn::host {

class SignalText {
   public:
    explicit SignalText(int file = STDERR_FILENO) : file_(file) {}

    SignalText& add(const char* text) { return add(text, std::strlen(text)); }
    SignalText& add(size_t number) { return add(number, 10); }
    SignalText& add_address(uintptr_t address) { return add("0x").add(address, 16); }
    // Copies as much of the text as there is room for, and a null character.
    template <size_t N>
    void copy_to(std::array<char, N>& text) const {
        const size_t size = size_ < N ? size_ : N - 1;
        std::memcpy(text.data(), text_.data(), size);
        text[size] = '\0';
    }
    // Writes the text, and begins anew.
    void flush() {
        write_all(file_, text_.data(), size_);
        size_ = 0;
    }

   private:
    // Text that is too long is cut off.
    SignalText& add(const char* text, size_t size) {
        size = size < text_.size() - size_ ? size : text_.size() - size_;
        std::memcpy(text_.data() + size_, text, size);
        size_ += size;
        return *this;
    }

    SignalText& add(uint64_t number, unsigned base) {
        std::array<char, 20> digits;
        size_t first = digits.size();
        do {
            digits[--first] = "0123456789abcdef"[number % base];
            number /= base;
        } while (number != 0);
        return add(digits.data() + first, digits.size() - first);
    }

    const int file_;
    std::array<char, 1024> text_;
    size_t size_ = 0;
};

}  // namespace torch_aclnn::host
