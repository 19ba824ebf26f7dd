// The macros for entry points of one form that more than one source file uses.
#pragma once

#include "engine/aten/adapter/adapter.h"

#define UNARY(entry_point, dtypes, function)                                     \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (Out, out, shaped_like(self))) { \
        function(out, self);                                                     \
    }
#define UNARY_INPLACE(entry_point, dtypes, function)    \
    ATEN_ENTRY(entry_point, dtypes, (InOut, selfRef)) { \
        function(selfRef, selfRef);                     \
    }
// self and other, with broadcasting.
#define BINARY(entry_point, dtypes, function)                                                                             \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (In, other), (Out, out, broadcast({{"self", self}, {"other", other}}))) { \
        function(out, self, other);                                                                                       \
    }
#define BINARY_INPLACE(entry_point, dtypes, function)                                                                     \
    ATEN_ENTRY(entry_point, dtypes, (InOut, selfRef, broadcast({{"selfRef", selfRef}, {"other", other}})), (In, other)) { \
        function(selfRef, selfRef, other);                                                                                \
    }
