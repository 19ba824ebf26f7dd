// Data movement: joining, repeating, reversing, triangles. The input may be the output's memory, so most compute first and copy.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"
#include "host/aten/results.h"

ATEN_ENTRY(aclnnCat, NUMBERS, (Tensors, tensors), (Int, dim), (Out, out)) {
    at::cat_out(out, tensors, dim);
}
ATEN_ENTRY(aclnnStack, NUMBERS, (Tensors, tensors), (Int, dim), (Out, out)) {
    out.copy_(at::stack(tensors, dim));
}

ATEN_CHECKED_ENTRY(aclnnSplitWithSize, NUMBERS, require_as_many({{"out", out}}, {"splitSize", splitSize}), (In, self), (Ints, splitSize),
                   (Dim, dim), (Tensors, out)) {
    const auto pieces = self.split_with_sizes(splitSize, dim);
    for (size_t i = 0; i < pieces.size(); ++i) out[i].copy_(pieces[i]);
}

ATEN_ENTRY(aclnnRepeat, NUMBERS, (In, self), (Ints, repeats), (Out, out)) {
    out.copy_(self.repeat(repeats));
}
ATEN_ENTRY(aclnnFlip, NUMBERS, (In, self), (Dims, dims), (Out, out)) {
    out.copy_(at::flip(self, dims));
}
ATEN_ENTRY(aclnnRoll, FLOATING | INT8 | UINT8 | INT32 | INT64 | BOOL, (In, self), (Ints, shifts), (Ints, dims), (Out, out)) {
    out.copy_(at::roll(self, shifts, dims));
}

ATEN_ENTRY(aclnnTril, REAL | BOOL, (In, self), (Int, diagonal), (Out, out)) {
    out.copy_(at::tril(self, diagonal));
}
ATEN_ENTRY(aclnnTriu, NUMBERS, (In, self), (Int, diagonal), (Out, out)) {
    out.copy_(at::triu(self, diagonal));
}
ATEN_ENTRY(aclnnInplaceTril, REAL | BOOL, (Out, selfRef), (Int, diagonal)) {
    selfRef.tril_(diagonal);
}
ATEN_ENTRY(aclnnInplaceTriu, NUMBERS, (Out, selfRef), (Int, diagonal)) {
    selfRef.triu_(diagonal);
}

// Without a dimension the input counts as flat. The caller knows the size of the result and has made room for it.
ATEN_ENTRY(aclnnRepeatInterleave, NUMBERS, (In, self), (In, repeats), (Int, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, std::nullopt, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveWithDim, NUMBERS, (In, self), (In, repeats), (Dim, dim), (Int, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, dim, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveInt, NUMBERS, (In, self), (NotNegative, repeats), (Int, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, std::nullopt, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveIntWithDim, NUMBERS, (In, self), (NotNegative, repeats), (Dim, dim), (Int, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, dim, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveTensor, ANY, (In, repeats), (Int, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(repeats, std::optional(outputSize)));
}

// Every element's gradient is the sum over its copies.
ATEN_ENTRY(aclnnRepeatInterleaveGrad, ANY, (In, yGrad), (In, repeats), (Dim, dim), (Out, out)) {
    const at::Tensor copies = torch_aclnn::host::aten::wide(yGrad);
    const at::Tensor counts = repeats.reshape({-1}).expand({repeats.numel() == 1 ? out.size(dim) : repeats.numel()});
    out.copy_(at::zeros(out.sizes(), copies.options()).index_add_(dim, at::repeat_interleave(counts), copies));
}
