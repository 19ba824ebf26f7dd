"""PyTorch's tests of functions (OpInfo), on our functions and on torch's own over torch_npu."""

import pytest

from opinfo.entries import cases
from opinfo.run import run
from support.marks import host_engine_only

pytestmark = [pytest.mark.opinfo, host_engine_only]


@pytest.mark.parametrize("case", list(cases(modules=False)), ids=str)
def test_function(case, passed_list):
    passed_list.compare(case, *run(case))
