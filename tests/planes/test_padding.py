"""The functions of padding: their arguments, and derivatives in the data types that the entry points list."""

import torch_aclnn
import pytest
import torch

from support.functions import on_devices_in_turn
from support.operators import ROWS

PADDINGS = [row for row in ROWS.values() if "_pad" in row.name]
for_each_padding = pytest.mark.parametrize("row", PADDINGS, ids=lambda row: row.name)


@for_each_padding
def test_gradcheck_in_the_types_of_the_entry_point(device, row):
    # CANN does not list COMPLEX128 for aclnnAdds, which gradcheck itself needs on npu.
    on_npu = [torch.float64] if "float64" in row.planes.dtypes else []
    for dtype in on_npu if device == "npu" else (torch.float64, torch.complex128):
        x = torch.randn(1, 2, *(2, 3, 4)[-row.dims :], device=device, dtype=dtype, requires_grad=True)
        fn = lambda x: getattr(torch_aclnn.functional, row.name)(x, 1)
        assert torch.autograd.gradcheck(fn, x) and torch.autograd.gradgradcheck(fn, x)


BAD = {
    "a number": (lambda f, x: f(3, 2), TypeError, "input: expected a Tensor, got int"),
    "a plane alone": (lambda f, x: f(x[0, 0], 2), ValueError, "input: expected {1} or {2} dimensions"),
    "three": (lambda f, x: f(x, (1, 2, 3)), ValueError, "padding: expected one integer or {0}"),
    "a half": (lambda f, x: f(x, 0.5), TypeError, "padding: expected integers"),
    "2^63 - 1": (lambda f, x: f(x, 2**63 - 1), ValueError, "padding: expected values of at most"),
    "nothing is left": (lambda f, x: f(x, -2), ValueError, "padding: expected a padded size of at least 1"),
}


@on_devices_in_turn("row, bad", PADDINGS, BAD)
def test_bad_arguments_are_refused_by_name(device, row, bad):
    call, error, words = BAD[bad]
    with pytest.raises(error, match=f"{row.name}: {words.format(2 * row.dims, row.dims + 1, row.dims + 2)}"):
        call(getattr(torch_aclnn.functional, row.name), torch.zeros(1, 1, *[4] * row.dims, device=device))


@pytest.mark.parametrize("row", [row for row in PADDINGS if "replication" in row.name], ids=lambda row: row.name)
def test_results_that_are_too_large_are_refused_by_name(device, row):
    x, others = torch.zeros(1, 1, *[4] * row.dims, device=device), (0,) * (2 * row.dims - 2)
    for first, words in (((2**62, 2**62), "values of at most"), ((0, 2**61), "a result of at most")):
        with pytest.raises(ValueError, match=f"{row.name}: padding: expected {words}"):
            getattr(torch_aclnn.functional, row.name)(x, (*first, *others))


@pytest.mark.parametrize("row", [row for row in PADDINGS if "reflection" in row.name], ids=lambda row: row.name)
def test_a_reflection_reaches_less_than_the_size_on_each_side(device, row):
    x = torch.zeros(1, 1, *[4] * row.dims, device=device)
    for side in range(2 * row.dims):
        with pytest.raises(ValueError, match="padding: expected values below the sizes that they extend"):
            getattr(torch_aclnn.functional, row.name)(x, [4 * (n == side) for n in range(2 * row.dims)])
