"""The README is the first screen: its size, its session, what its table says of launches, and the repository's address."""

import doctest
import re
from pathlib import Path

import torch_aclnn
import pytest
import torch
from torch import nn
from torch_aclnn._repository import ADDRESS

from support.marks import host_engine_only, refused_at_once
from support.subprocesses import output_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_first_screen_stays_short():
    lines = README.splitlines()
    assert len(README.split()) <= 750 and len(lines) <= 110 and max(map(len, lines)) <= 120
    # Only links in tables, the picture and the command, which has to be one line, may be wider than a terminal of 80 columns.
    assert [line for line in lines if len(line) > 80 and not line.startswith("![") and "](" not in line and "pytest" not in line] == []


def test_the_command_of_the_continuous_integration_is_one_line():
    pattern = re.search(r"grep -m1 -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text())[1]
    assert re.findall(rf"{pattern}", README, re.MULTILINE)


@host_engine_only
@refused_at_once
def test_the_session_prints_what_the_readme_shows():
    (session,) = re.findall(r"```pycon\n(.*?)```", README, re.DOTALL)
    printed = output_of(f"""
import doctest
test = doctest.DocTestParser().get_doctest({session!r}, {{}}, "README", None, None)
print(doctest.DocTestRunner(optionflags={doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE}).run(test))""")
    assert printed.splitlines()[-1].replace(", skipped=0", "") == f"TestResults(failed=0, attempted={session.count('>>> ')})", printed


def launches(module: nn.Module, *inputs: torch.Tensor) -> dict[str, int]:
    """Return the calls of the backward."""
    x, *others = (tensor.npu() for tensor in inputs)
    y = module.npu()(x.requires_grad_(), *others)
    gradient = torch.ones_like(y)
    torch.npu.synchronize()
    torch_aclnn.host.reset()
    y.backward(gradient)
    torch.npu.synchronize()
    return torch_aclnn.host.statistics().calls


IMAGE = torch.randn(2, 3, 8, 8)
POOLED, INDICES = nn.functional.max_pool2d(IMAGE, 2, return_indices=True)


# README.md, docs/ascend.md and their Chinese versions say so.
@host_engine_only
@pytest.mark.parametrize(
    ("module", "inputs", "own", "converted"),
    [
        (nn.AvgPool2d(2), (IMAGE,), {"aclnnAvgPool2dBackward": 1}, {"aclnnAvgPool2dBackward": 1}),
        (nn.ReplicationPad2d(1), (IMAGE,), {"aclnnReplicationPad2dBackward": 1}, {"aclnnReplicationPad2dBackward": 1}),
        (nn.AdaptiveAvgPool2d(3), (IMAGE,), {"aclnnAdaptiveAvgPool2dBackward": 1}, {"aclnnAdaptiveAvgPool2dBackward": 1}),
        (nn.AdaptiveAvgPool2d(1), (IMAGE,), {"aclnnDivs": 1}, {"aclnnAdaptiveAvgPool2dBackward": 1}),
        (nn.CircularPad1d(1), (IMAGE[0],), 18, {"aclnnCircularPad2dBackward": 1}),
        (nn.CircularPad3d(1), (IMAGE[None],), 50, {"aclnnCircularPad3dBackward": 1}),
        (nn.MaxUnpool2d(2), (POOLED, INDICES), {"aclnnGather": 1}, {"aclnnMaxUnpool2dBackward": 1}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_what_torch_npu_calls_and_what_a_converted_module_calls(module, inputs, own, converted):
    found = launches(module, *inputs)
    assert (sum(found.values()) if isinstance(own, int) else found) == own
    assert launches(torch_aclnn.convert(module), *inputs) == converted


def test_the_address_of_the_repository_is_the_same_in_all_places():
    files = ("README.md", "README.zh-CN.md", "SECURITY.md", "docs/ci/github-actions.yml", "docs/ci/tests.sh", "pyproject.toml")
    for name in files:
        assert set(re.findall(r"https://github\.com/[\w-]+/torch_aclnn", (ROOT / name).read_text())) == {ADDRESS}, name
