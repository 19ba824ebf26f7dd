// The macros for entry points of one form that more than one source file uses.
#pragma once

#include "engine/aten/adapter/adapter.h"

#define UNARY(entry_point, dtypes, function)                                                                            \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_same_shape({"out", out}, {"self", self}), (In, self), (Out, out)) { \
        function(out, self);                                                                                            \
    }
#define UNARY_INPLACE(entry_point, dtypes, function)  \
    ATEN_ENTRY(entry_point, dtypes, (Out, selfRef)) { \
        function(selfRef, selfRef);                   \
    }
// self and other, with broadcasting.
#define BINARY(entry_point, dtypes, function)                                                                                      \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_broadcast_shape({"out", out}, {{"self", self}, {"other", other}}), (In, self), \
                       (In, other), (Out, out)) {                                                                                  \
        function(out, self, other);                                                                                                \
    }
#define BINARY_INPLACE(entry_point, dtypes, function)                                                                                \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_broadcast_shape({"selfRef", selfRef}, {{"selfRef", selfRef}, {"other", other}}), \
                       (Out, selfRef), (In, other)) {                                                                                \
        function(selfRef, selfRef, other);                                                                                           \
    }
