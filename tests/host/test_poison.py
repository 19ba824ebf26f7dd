"""TORCH_ACLNN_HOST_MODE=poison: fresh memory is full of NaNs."""

import math
from textwrap import dedent

import pytest

from support.subprocesses import host_mode, output_of

POISON = host_mode("poison")
UNCACHED = {"PYTORCH_NO_NPU_MEMORY_CACHING": "1"}


@pytest.mark.parametrize("modes", ["poison", "poison,isolate"])
@pytest.mark.parametrize("size", [1, 4096, 5 << 20])
def test_fresh_memory_is_written_over(run_engine, size, modes):
    ended = run_engine(dedent(f"""
        acl.aclrtSetDevice(0)
        for _ in range(2):
            device, locked = acl.create("aclrtMalloc", {size}, 0), acl.create("aclrtMallocHost", {size})
            for source in (device, locked):
                assert acl.read(source, {size}) == bytes([255]) * {size}
                acl.ok("aclrtMemset", source, {size}, 0, {size})
            acl.ok("aclrtFree", device); acl.ok("aclrtFreeHost", locked)
        print("done")
    """), TORCH_ACLNN_HOST_MODE=modes)  # fmt: skip
    assert ended.stdout == "done\n", ended.stderr


def test_a_tensor_that_nobody_wrote_is_nan():
    values = output_of("import torch, torch_aclnn; print(torch.empty(1000, device='npu').isnan().all().item())", **POISON)
    assert values.endswith("True")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_a_tensor_in_memory_that_was_used_before_is_nan_too_without_the_cache(dtype):
    printed = output_of(
        f"import torch, torch_aclnn; make = lambda: torch.zeros(1000, device='npu', dtype=torch.{dtype}); [make() for _ in range(5)]\n"
        f"print(set(map(str, torch.empty(1000, device='npu', dtype=torch.{dtype}).tolist())))",
        **POISON, **UNCACHED,
    )  # fmt: skip
    assert printed.endswith(f"{{'{-1 if dtype.startswith('int') else math.nan}'}}")
