// Data movement: copies into another layout or data type.
#include "engine/aten/by_name/call.h"

OPERATOR(Identity) {
    call.write(0, call.input(0));
}
OPERATOR(TransData) {
    call.write(0, call.input(0));
}
OPERATOR(Cast) {
    call.write(0, call.input(0));
}
OPERATOR(Transpose) {
    call.write(0, call.input(0).permute(call.integers(1)));
}
OPERATOR(Fill) {
    call.write(0, call.input(1).reshape({}).expand(call.integers(0)));
}
