"""PyTorch's tests of functions (OpInfo), on our functions and on torch's own over torch_npu."""

import pytest

from marks import host_engine_only
from opinfo.entries import cases
from opinfo.run import run

pytestmark = [pytest.mark.opinfo, host_engine_only]


@pytest.mark.parametrize("case", list(cases(modules=False)), ids=str)
def test_function(case, passed_list):
    passed_list.compare(case, *run(case))
