"""Results and errors are the same for any number of threads."""

import torch_aclnn  # noqa: F401
import pytest
import torch
from torch.ops import torch_aclnn as ops

from support.sized_cases import CASES, gradient_of


@pytest.fixture
def thread_count():
    """Return what sets the number of threads for the rest of the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_results_do_not_depend_on_the_number_of_threads(name, channels_last, thread_count):
    """Each thread has a part of its own that begins within rows or planes."""
    size, backward = CASES[name]
    gradient = gradient_of(5, size, torch.bfloat16, channels_last)
    thread_count(1)
    expected = backward(gradient)
    for count in (2, 3, 7):
        thread_count(count)
        assert torch.equal(backward(gradient), expected), f"{count} threads"


def test_the_first_bad_index_is_named_by_any_number_of_threads(thread_count):
    indices = torch.arange(320).expand(64, 8, -1).contiguous().view(64, 8, 8, 8, 5)
    indices[20, 3, 2, 1, 4], indices[20, 3, 2, 2, 0], indices[63, 7, 7, 7, 4] = 2560, -1, 9999
    for count in (1, 2, 3, 7):
        thread_count(count)
        with pytest.raises(RuntimeError, match=r"got 2560 at position \[20, 3, 2, 1, 4\]"):
            ops.max_unpool3d_backward(torch.randn(64, 8, 16, 16, 10), indices, [16, 16, 10], [2, 2, 2], [0, 0, 0])
