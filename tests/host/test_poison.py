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
        V, S = ctypes.c_void_p, ctypes.c_size_t
        acl.aclrtSetDevice(0)
        device, locked, content = V(), V(), ctypes.create_string_buffer({size})
        for _ in range(2):
            assert acl.aclrtMalloc(ctypes.byref(device), {size}, 0) == 0
            assert acl.aclrtMallocHost(ctypes.byref(locked), S({size})) == 0
            for source in (device, locked):
                assert acl.aclrtMemcpy(content, S({size}), source, S({size}), 4) == 0, message()
                assert content.raw == bytes([255]) * {size}
                assert acl.aclrtMemset(source, S({size}), 0, S({size})) == 0
            assert acl.aclrtFree(device) == 0 and acl.aclrtFreeHost(locked) == 0
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
