// Codes of numbers in bits and positions, and ranges that are filled.
#include "engine/aten/by_name/call.h"
#include "engine/aten/quantization/sign_bits.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

at::Tensor in_rows(const Call& call, const at::Tensor& values) {
    const int64_t rows = call.attribute<int64_t>("size", 1);
    if (rows < 1 || values.numel() % rows != 0) refuse("attribute size", c10::str("a divisor of ", values.numel()), std::to_string(rows));
    return values.reshape({rows, values.numel() / rows});
}

}  // namespace

// In a new dimension, the first value is at the position of the class, and the second everywhere else.
OPERATOR(OneHotD) {
    const at::Tensor classes = call.input(0).to(at::kLong);
    const int64_t axis = call.attribute<int64_t>("axis", -1), depth = call.attribute<int64_t>("depth");
    require_dim("attribute axis", axis, classes.dim() + 1);
    const at::Tensor each = at::arange(depth), place = classes.unsqueeze(-1) == each;
    call.write(0, at::where(place, call.input(1).reshape({}), call.input(2).reshape({})).movedim(-1, axis));
}

OPERATOR(SortV2) {
    const at::Tensor x = call.input(0);
    const int64_t axis = call.attribute<int64_t>("axis", -1);
    require_dim("attribute axis", axis, x.dim());
    call.write(0, std::get<0>(at::sort(x, axis, call.attribute<bool>("descending", false))));
}

RESULT_OPERATOR(SignBitsPack, in_rows(call, packed_signs(call.input(0))))
OPERATOR(SignBitsUnpack) {
    const at::Tensor bytes = call.input(0);
    if (bytes.scalar_type() != at::kByte) refuse("input 0", "UINT8", c10::str(bytes.scalar_type()));
    call.write(0, in_rows(call, unpacked_signs(bytes)));
}

// Each row of begins and ends has a value; along the last of several dimensions a range belongs to one row of the tensor, else to all.
OPERATOR(MaskedFillRange) {
    const at::Tensor x = call.input(0).clone(), begin = call.input(1).to(at::kLong), end = call.input(2).to(at::kLong);
    int64_t axis = call.attribute<int64_t>("axis", -1);
    require_dim("attribute axis", axis, x.dim());
    if (axis < 0) axis += x.dim();
    if (begin.dim() != 2 || end.sizes() != begin.sizes())
        refuse("input 2", c10::str("two dimensions like input 1, ", begin.sizes()), shape_text(end.sizes()));
    const at::Tensor values = call.input(3).reshape({-1});
    for (int64_t i = 0; i < begin.size(0); i++)
        for (int64_t j = 0; j < begin.size(1); j++) {
            const bool of_row = x.dim() > 1 && axis == x.dim() - 1;
            const at::Tensor row = of_row ? x.select(0, j) : x;
            row.slice(of_row ? axis - 1 : axis, begin[i][j].item<int64_t>(), end[i][j].item<int64_t>()).copy_(values[i]);
        }
    call.write(0, x);
}
