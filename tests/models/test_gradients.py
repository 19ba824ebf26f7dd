"""One step of each network of examples/ on npu: its loss and gradients, and the entry points that computed them."""

import functools

import torch_aclnn
import pytest
import torch

from examples.models.recipes import RECIPES
from support.marks import NOT_OFFERED, beyond_the_documents, host_engine_only, marked, of_a2_and_a3
from support.training import VARIANTS, one_step

# The transformer has nothing that could be converted.
CASES = [(name, kind) for name in RECIPES for kind in VARIANTS if name != "transformer" or kind == "torch"]

# How often an entry point runs in one step. No gradient goes through a padding of the network's input.
TORCH_NPU_CALLS = {
    "lenet": {"aclnnAvgPool2dBackward": 2},
    "resnet": {"aclnnBatchNormBackward": 20, "aclnnMean": 1},
    "inception": {"aclnnAvgPool2dBackward": 2, "aclnnBatchNormBackward": 13},
    "unet": {"aclnnReplicationPad2dBackward": 9, "aclnnUpsampleBilinear2dBackwardV2": 1, "aclnnUpsampleNearest2dBackward": 1},
    "segnet": {"aclnnMaxPool3dWithArgmaxBackward": 2, "aclnnMaxUnpool3d": 2},
    "transformer": {
        "aclnnFlashAttentionScoreGrad": 2,
        "aclnnLayerNormBackward": 5,
        "aclnnGeluBackward": 2,
        "aclnnEmbeddingDenseBackward": 2,
    },
}
OUR_CALLS = {
    "lenet": {"aclnnAvgPool2dBackward": 2},
    "resnet": {"aclnnAdaptiveAvgPool2dBackward": 1},
    "inception": {"aclnnAvgPool2dBackward": 2, "aclnnAdaptiveAvgPool2dBackward": 1},
    "unet": {"aclnnReplicationPad2dBackward": 9},
    "segnet": {"aclnnMaxUnpool3dBackward": 2},
}
BATCH_NORMS = {"lenet": 0, "resnet": 20, "inception": 13, "unet": 10, "segnet": 3}


def calls_of_one_step(name: str, kind: str) -> dict[str, int]:
    torch.npu.synchronize()
    torch_aclnn.host.reset()
    one_step(name, kind, "npu")
    return torch_aclnn.host.statistics().calls


@functools.cache
def reference(name: str, dtype: torch.dtype) -> tuple[float, dict[str, torch.Tensor]]:
    return one_step(name, "torch", "cpu", dtype)


def largest_error(gradients: dict[str, torch.Tensor], exact: dict[str, torch.Tensor]) -> float:
    """Return the largest distance of a parameter's gradient from the exact one, in parts of the latter's length."""
    assert gradients.keys() == exact.keys()
    return max(((gradients[key] - exact[key]).norm() / exact[key].norm()).item() for key in exact)


@pytest.mark.parametrize(("name", "kind"), marked(CASES, ("segnet", "torch"), beyond_the_documents))
def test_loss_and_gradients_are_as_near_to_float64_as_those_of_the_cpu(name, kind):
    exact_loss, exact = reference(name, torch.float64)
    _, rounded = reference(name, torch.float32)
    loss, gradients = one_step(name, kind, "npu")
    # What rounding to float32 does to a network depends on its depth; the cpu's own error says how much. Another order of the same sums
    # may err a few times as far.
    rounding = largest_error(rounded, exact)
    assert rounding < 1e-5
    assert largest_error(gradients, exact) <= 5 * rounding
    assert loss == pytest.approx(exact_loss, rel=2e-6)


@pytest.mark.parametrize("name", ["lenet", "transformer"])
def test_bfloat16_gradients_are_near_those_of_float64(name):
    exact_loss, exact = reference(name, torch.float64)
    loss, gradients = one_step(name, "convert", "npu", torch.bfloat16)
    assert loss == pytest.approx(exact_loss, rel=2**-7)  # the logits and the loss have 8 significant bits
    assert largest_error(gradients, exact) < 2**-5  # 8 bits, and the roundings of a dozen layers


@host_engine_only
@pytest.mark.parametrize("name", marked(TORCH_NPU_CALLS, "segnet", beyond_the_documents))
@of_a2_and_a3
def test_torch_npu_finds_the_entry_points_of_the_network(name):
    assert calls_of_one_step(name, "torch").items() >= TORCH_NPU_CALLS[name].items()


@host_engine_only
@pytest.mark.parametrize("kind", ["patch", "convert"])
@pytest.mark.parametrize("name", OUR_CALLS)
def test_a_patched_or_converted_network_takes_our_operators(name, kind):
    calls = calls_of_one_step(name, kind)
    assert calls.items() >= OUR_CALLS[name].items()
    batch_norms = 0 if "batch_norm_elemt" in NOT_OFFERED else BATCH_NORMS[name]
    assert calls.get("aclnnBatchNormElemtBackward", 0) == batch_norms and "aclnnBatchNormBackward" not in calls
