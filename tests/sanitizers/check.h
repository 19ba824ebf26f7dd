// Ends a program whose expectation does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"

#define CHECK(condition)                                                                                                               \
    do {                                                                                                                               \
        if (!(condition)) {                                                                                                            \
            std::fprintf(stderr, "%s:%d: %s does not hold; last message: %s\n", __FILE__, __LINE__, #condition, aclGetRecentErrMsg()); \
            std::exit(1);                                                                                                              \
        }                                                                                                                              \
    } while (false)
#define OK(call) CHECK((call) == ACL_SUCCESS)
