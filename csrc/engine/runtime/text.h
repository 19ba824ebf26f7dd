// Strings for messages.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

namespace torch_aclnn::host {

// Joins the pieces, each as a stream prints it.
template <class... Pieces>
std::string text(const Pieces&... pieces) {
    std::ostringstream out;
    (out << ... << pieces);
    return out.str();
}

// Returns the bytes of the UTF-8 sequence that the text begins with; 0 if it begins with none.
inline size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xC2 && first < 0xE0 ? 2
                          : (first & 0xF0) == 0xE0        ? 3
                          : first >= 0xF0 && first < 0xF5 ? 4
                                                          : 0;
    if (length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    if (length < 3) return length;
    // Sequences that are longer than necessary, surrogates, and numbers beyond Unicode are invalid.
    const unsigned char second = byte(1);
    const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
                       (first == 0xF4 && second > 0x8F);
    return wrong ? 0 : length;
}

}  // namespace torch_aclnn::host
