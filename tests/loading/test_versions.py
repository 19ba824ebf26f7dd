"""Which torch and torch_npu a build works with, and what is said of others."""

import sys
from pathlib import Path

import pytest
from torch_aclnn.loading import versions
from torch_aclnn.loading.torch_npu_releases import NEWEST, numbers

from support.subprocesses import run_python

TORCH, TORCH_NPU = (versions.minor(release) for release in (versions._built_for.TORCH, versions._built_for.TORCH_NPU))
INSTALL = f'pip install "torch=={TORCH}.*" "torch_npu=={TORCH_NPU}.*"'
LATER = f"{numbers(NEWEST)[0]}.{numbers(NEWEST)[1] + 1}.0"
REFUSAL = f"torch {LATER} is installed, but this release of torch_aclnn knows no torch_npu for it (the newest is {NEWEST})"


@pytest.mark.parametrize(
    ("package", "version", "words"),
    [
        (
            "torch",
            f"__version__ = '{TORCH}.0+rocm7'\nhip = '7.0'\n",
            f"torch {TORCH}.0+rocm7 is a ROCm build, with which torch_npu does not load; install torch's CPU build: pip install ",
        ),
        ("torch", "__version__ = '2.6.0'\ncuda = None\n", f"was built for torch {TORCH}, but 2.6.0 is installed"),
        ("torch", f"__version__ = '{LATER}+cu132'\ncuda = '13.2'\n", f"{REFUSAL}; install what it was built for: {INSTALL}"),
        ("torch_npu", "__version__ = '2.6.0'\n", f"was built for torch_npu {TORCH_NPU}, but 2.6.0 is installed"),
        (
            "torch_npu",
            "__version__ = '2.6.0.post3'\n",
            f"but 2.6.0.post3 is installed; reinstall torch_aclnn to build it again, or {INSTALL}",
        ),
    ],
)
def test_a_wrong_combination_is_explained_in_one_message(tmp_path, package, version, words):
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("raise AssertionError('must not be imported')")
    (tmp_path / package / "version.py").write_text(version)
    done = run_python(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import torch_aclnn", new=True)
    assert done.returncode == 1 and words in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("packages", "refusal"),
    [
        ({"torch": LATER}, f'{REFUSAL}; install that one and its torch: pip install "torch_npu=={NEWEST}.*"'),
        (
            {"torch": "2.14.0+cpu", "torch_npu": "2.13.0"},
            'torch_npu 2.13.0 does not load with torch 2.14.0: pip install "torch==2.13.*" "torch_npu==2.13.*"',
        ),
    ],
)
def test_the_build_refuses_in_one_line_what_does_not_fit(tmp_path, packages, refusal):
    for package, release in packages.items():
        information = f"{package}-{release}.dist-info"
        for directory, file, content in ((package, "__init__.py", ""), (information, "METADATA", f"Version: {release}\n")):
            (tmp_path / directory).mkdir()
            (tmp_path / directory / file).write_text(content)
    launcher = (sys.executable, str(Path(__file__).parents[2] / "setup.py"), "--version")
    done = run_python("", launcher=launcher, new=True, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [refusal]


def test_the_cuda_build_fits(monkeypatch):
    modules = {"torch": {"__version__": f"{TORCH}.0+cu130", "cuda": "13.0"}, "torch_npu": {"__version__": f"{TORCH_NPU}.0"}}
    monkeypatch.setattr(versions, "installed", modules.get)
    versions.check_versions()
    assert versions.is_cuda_build()


@pytest.mark.parametrize(("built_for", "found"), [("2.9.0", "2.9.0.post12+git1234"), ("2.9.0.post9", "2.9.0"), ("2.9.1", "2.9.0.post1")])
def test_releases_of_one_minor_version_fit(monkeypatch, built_for, found):
    monkeypatch.setattr(versions._built_for, "TORCH", "2.9.0")
    monkeypatch.setattr(versions._built_for, "TORCH_NPU", built_for)
    modules = {"torch": {"__version__": "2.9.1+cpu"}, "torch_npu": {"__version__": found}}
    monkeypatch.setattr(versions, "installed", modules.get)
    versions.check_versions()


def test_a_function_that_torch_npu_lacks_is_named_in_one_message(monkeypatch):
    def fail(name):
        raise ImportError("_C.so: undefined symbol: _ZN6at_npu6native14get_npu_formatERKN2at6TensorE")

    monkeypatch.setattr(versions.importlib, "import_module", fail)
    with pytest.raises(ImportError, match=f"^torch_npu {TORCH_NPU}.* does not export _ZN6at_npu6native14get_npu_format.*: pip install "):
        versions.import_extension()


def test_without_torch_npu_the_error_says_how_to_get_it(monkeypatch):
    modules = {"torch": {"__version__": f"{TORCH}.0+cpu"}}
    monkeypatch.setattr(versions, "installed", modules.get)
    with pytest.raises(ImportError) as raised:
        versions.check_versions()
    assert str(raised.value) == f"torch_aclnn needs torch_npu: {INSTALL}"
