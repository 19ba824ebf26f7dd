// Three functions of CANN's library of bounded string functions, which torchair writes its messages with. As in C11's Annex K, whose
// arguments they have, a destination that is too small is left as an empty string.

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "engine/runtime/visibility.h"

static int none(char* destination, size_t size) {
    if (destination != nullptr && size > 0) destination[0] = '\0';
    return -1;
}

// `count` is the greatest length of the text, without its end.
static int print(char* destination, size_t size, size_t count, const char* format, va_list arguments) {
    if (destination == nullptr || size == 0 || format == nullptr) return none(destination, size);
    const size_t room = count < size ? count + 1 : size;
    const int length = vsnprintf(destination, room, format, arguments);
    if (length < 0 || (static_cast<size_t>(length) >= room && room == size)) return none(destination, size);
    return static_cast<size_t>(length) < room ? length : -1;
}

extern "C" {

TORCH_ACLNN_HOST_API int vsnprintf_s(char* destination, size_t size, size_t count, const char* format, va_list arguments) {
    return print(destination, size, count, format, arguments);
}

TORCH_ACLNN_HOST_API int snprintf_s(char* destination, size_t size, size_t count, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = print(destination, size, count, format, arguments);
    va_end(arguments);
    return length;
}

TORCH_ACLNN_HOST_API int strcpy_s(char* destination, size_t size, const char* source) {
    if (destination == nullptr || size == 0 || source == nullptr) return none(destination, size), EINVAL;
    if (strlen(source) >= size) return none(destination, size), ERANGE;
    strcpy(destination, source);
    return 0;
}

}  // extern "C"
