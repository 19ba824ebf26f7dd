"""The kernels of torch.ops.torch_aclnn; importing the module registers them."""

def isa() -> str:
    """Name the instruction set of the kernels: scalar, baseline, avx2 or avx512."""
