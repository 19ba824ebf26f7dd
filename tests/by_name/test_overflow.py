"""The overflow register, which GradScaler reads on 310P, whose arithmetic has no infinities."""

from support.subprocesses import output_of

PROGRAM = """
import acl, torch, torch_aclnn, torch_npu

def overflows(function):
    torch.npu.synchronize()
    function()
    found = torch_npu.npu.get_npu_overflow_flag()
    assert torch_npu.npu.get_npu_overflow_flag() == found  # reading leaves it
    torch_npu.npu.clear_npu_overflow_flag()
    assert not torch_npu.npu.get_npu_overflow_flag()
    return found

def status(function):
    function()
    address, code = acl.rt.malloc(64, 0)
    assert code == 0
    stream = torch.npu.current_stream().npu_stream
    assert acl.rt.get_overflow_status(address, 64, stream) == 0
    assert acl.rt.get_overflow_status(address, 32, stream) == 107000
    assert acl.rt.reset_overflow_status(stream) == acl.rt.synchronize_stream(stream) == 0
    found = torch.zeros(64, dtype=torch.uint8)
    assert acl.rt.memcpy(found.data_ptr(), 64, address, 64, 2) == acl.rt.free(address) == 0
    return found.count_nonzero().item()

large, huge = torch.tensor([6e4, 1.0]).half().npu(), torch.tensor([3e38, 1.0]).npu()
mask, infinite = torch.tensor([True, False]).npu(), torch.tensor([float("inf"), 1.0]).npu()
square = torch.full((8, 8), 1e3).half().npu()
scale = torch.tensor(0.5).npu()
print([overflows(f) for f in (lambda: large + large, lambda: large * 2, lambda: huge.half(), lambda: huge * huge, lambda: square @ square,
                              lambda: infinite - infinite)])
print([overflows(f) for f in (lambda: large - large, lambda: infinite + 1, lambda: infinite.clone().mul_(scale), lambda: infinite.half(),
                              lambda: large.masked_fill(mask, -float("inf")), lambda: torch.full((2,), float("inf"), device="npu"))])
print(status(lambda: large + large), status(lambda: large - large))
"""


def test_what_makes_an_infinity_of_finite_numbers_or_a_nan_sets_the_register():
    assert output_of(PROGRAM, TORCH_ACLNN_HOST_SOC="Ascend310P3").splitlines() == [str([True] * 6), str([False] * 6), "1 0"]


def test_a_product_with_infinities_has_no_register():
    code = """
    import acl, torch_aclnn, torch
    print(acl.rt.reset_overflow_status(torch.npu.current_stream().npu_stream), acl.get_recent_err_msg())
    """
    assert "207000 aclrtResetOverflowStatus: product: expected one without infinities (310P)" in output_of(code)


def test_such_a_product_tells_of_no_overflow():
    code = """
    import torch, torch_aclnn, torch_npu
    x = torch.full((8,), 6e4).half().npu()
    x * x
    print(torch_npu.npu_get_float_status(x).tolist(), torch_npu.npu_clear_float_status(x).shape)
    """
    assert output_of(code) == "[0, 0, 0, 0, 0, 0, 0, 0] torch.Size([8])"
