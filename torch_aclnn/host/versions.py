"""Whether the installed torch and torch_npu are those that this build was made for."""

import importlib.util
import re
import runpy
from pathlib import Path

from torch_aclnn import _built_for

# PyPI has no CPU build of torch for x86_64.
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"


def installed(package: str) -> dict[str, object] | None:
    """Return the variables of the package's ``version.py`` without importing the package; None if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return runpy.run_path(str(Path(spec.origin).parent / "version.py"))


def check_versions() -> None:
    """Check that torch and torch_npu fit each other and this build.

    A post release of torch_npu, which changes no interface, fits like the release itself.

    Raises:
        ImportError: in one message, what is wrong and what to install.

    """
    torch, torch_npu = installed("torch"), installed("torch_npu")
    if torch is None:
        raise ImportError(f"torch_aclnn needs torch: {install_command()}")
    if torch_npu is None:
        raise ImportError(f"torch_aclnn needs torch_npu: {install_command()}")
    if torch.get("hip") is not None:
        raise ImportError(
            f"torch {torch['__version__']} is a ROCm build, beside which torch_npu does not load; "
            f"install torch's CPU build: {cpu_build_command()}"
        )
    if release(torch) != _built_for.TORCH:
        raise ImportError(_built_for_another("torch", _built_for.TORCH, release(torch)))
    if without_post(release(torch_npu)) != without_post(_built_for.TORCH_NPU):
        raise ImportError(_built_for_another("torch_npu", _built_for.TORCH_NPU, release(torch_npu)))


def install_command() -> str:
    """Return the pip command that installs the versions that this build was made for."""
    return f'pip install "torch=={_built_for.TORCH}" "torch_npu=={without_post(_built_for.TORCH_NPU)}.*"'


def cpu_build_command() -> str:
    """Return the pip command that replaces another build of torch by the CPU build."""
    # The version's tag is needed: pip takes an installed build of the same release for the one that is asked for.
    return f'pip install "torch=={_built_for.TORCH}+cpu" --index-url {CPU_BUILDS}'


def is_cuda_build() -> bool:
    """Return whether the installed torch is the CUDA build of the release that this build was made for."""
    torch = installed("torch")
    return torch is not None and torch.get("cuda") is not None and release(torch) == _built_for.TORCH


def _built_for_another(package: str, built_for: str, found: str) -> str:
    return (
        f"torch_aclnn was built for {package} {built_for}, but {found} is installed; "
        f"reinstall torch_aclnn to build it again, or {install_command()}"
    )


def release(version: dict[str, object]) -> str:
    """Return the release of a ``version.py``'s variables, without the build's tag: ``2.13.0+cpu`` is ``2.13.0``."""
    return str(version["__version__"]).split("+")[0]


def without_post(release: str) -> str:
    """Return the release that a post release belongs to: ``2.13.0.post1`` belongs to ``2.13.0``."""
    return re.sub(r"\.post\d+$", "", release)
