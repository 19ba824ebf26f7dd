"""What editors, help() and type checkers show of the package."""

import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS

ROOT = Path(__file__).parents[2]
MODULES = [name for operator in OPERATORS for name in operator.modules]
CLIENT = """
import torch
import torch_aclnn

x = torch.ones(1, 1, 4, 4)
volume, places = torch.ones(1, 1, 1, 1, 1), torch.zeros(1, 1, 1, 1, 1, dtype=torch.int64)
reveal_type(torch_aclnn.nn.AvgPool2d(2)(x))
reveal_type(torch_aclnn.nn.AdaptiveAvgPool2d(2)(input=x))
reveal_type(torch_aclnn.nn.AdaptiveAvgPool3d(2)(volume))
reveal_type(torch_aclnn.nn.ReplicationPad2d(2)(x))
reveal_type(torch_aclnn.nn.ReflectionPad2d(2)(x))
reveal_type(torch_aclnn.nn.BatchNorm1d(1)(x))
reveal_type(torch_aclnn.nn.BatchNorm2d(1)(x))
reveal_type(torch_aclnn.nn.BatchNorm3d(1)(x))
reveal_type(torch_aclnn.nn.MaxUnpool3d(2)(volume, places, output_size=(2, 2, 2)))
reveal_type(torch_aclnn.functional.avg_pool2d(x, 2))
reveal_type(torch_aclnn.functional.batch_norm(x, None, None))
reveal_type(torch_aclnn.convert(torch.nn.Linear(1, 1)))
reveal_type(torch_aclnn.revert(torch.nn.Linear(1, 1)))
reveal_type(torch_aclnn.patch().changed)
torch_aclnn.nn.AvgPool2d(2)(3)
torch_aclnn.nn.MaxUnpool3d(2)(volume)
"""
REVEALED = ["torch._tensor.Tensor"] * 11 + ["torch.nn.modules.linear.Linear"] * 2 + ["tuple[str, ...]"]


@pytest.mark.parametrize("name", ["functional", "nn", "autograd", "host"])
def test_dir_shows_the_public_names(name):
    module = importlib.import_module(f"torch_aclnn.{name}")
    assert dir(module) == sorted(module.__all__) and all(hasattr(module, public) for public in dir(module))


def test_pad_names_the_functions_that_there_are():
    with pytest.raises(AttributeError, match="has no attribute 'pad'; each mode of pad is a function, such as replication_pad2d"):
        torch_aclnn.functional.pad  # noqa: B018  # the access fails


def test_names_that_are_public_once_and_few():
    package = Path(torch_aclnn.__file__).parent
    public = [path.relative_to(package.parent).with_suffix("") for path in package.rglob("*.py") if "__all__" in path.read_text()]
    modules = {".".join(path.parts).removesuffix(".__init__") for path in public if "toolkit" not in path.parts}
    listed = {name for name in modules if not re.search(r"\._", name)}
    assert listed == {"torch_aclnn", *(f"torch_aclnn.{name}" for name in ("functional", "nn", "autograd", "host"))}
    assert sum(len(importlib.import_module(name).__all__) for name in listed) <= 88


def test_dir_of_the_package_shows_the_public_names():
    assert set(dir(torch_aclnn)) == {*torch_aclnn.__all__, "__version__"}


@pytest.mark.parametrize(
    "file, line", [("pyproject.toml", 'version = "{}"'), ("CITATION.cff", "version: {}"), ("docs/versions.md", "| torch_aclnn | {}, ")]
)
def test_each_file_states_the_same_version(file, line):
    assert f"\n{line.format(torch_aclnn.__version__)}" in (ROOT / file).read_text()


@pytest.mark.parametrize("name", MODULES)
def test_signature_and_help_are_those_of_torchs_module(name):
    ours, theirs = getattr(torch_aclnn.nn, name), getattr(torch.nn, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    text = pydoc.plain(pydoc.render_doc(ours))
    assert f"class {name}(" in text and f"torch_aclnn.functional.{'batch_norm' if 'Batch' in name else ''}" in text
    assert "def forward(self, input: Tensor" in inspect.getsource(ours.forward)


@pytest.mark.slow
def test_type_checkers_see_what_calls_return(tmp_path):
    pytest.importorskip("mypy")
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    parent = Path(torch_aclnn.__file__).parents[1]
    # mypy refuses to be shown where packages are installed, which it finds itself.
    source_tree = "" if parent.name == "site-packages" else str(parent)
    arguments = ["--strict", "--follow-imports=silent", "--config-file=", f"--cache-dir={tmp_path}", str(client)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "", "MYPYPATH": source_tree, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )
    assert re.findall(r'Revealed type is "(.*)"', done.stdout) == REVEALED, done.stdout + done.stderr
    errors = [line.partition("error: ")[2] for line in done.stdout.splitlines() if "error:" in line]
    assert (
        len(errors) == 2
        and 'incompatible type "int"; expected "Tensor"' in errors[0]
        and errors[1].startswith("Missing positional argument")
    )


def test_a_name_of_an_earlier_release_is_refused_with_the_present_one():
    with pytest.raises(AttributeError, match=re.escape("torch_aclnn.host.calls is now statistics().calls")):
        _ = torch_aclnn.host.calls
    assert not hasattr(torch_aclnn.host, "nothing")
