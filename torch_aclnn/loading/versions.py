"""Whether the installed torch and torch_npu are those that this build was made for."""

import importlib
import importlib.util
import re
import runpy
from pathlib import Path

from torch_aclnn import _built_for
from torch_aclnn.loading import torch_npu_releases

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

    A build fits every release of its minor version; it does without functions that some of them do not export.

    Raises:
        ImportError: in one message, what is wrong and what to install.

    """
    torch, torch_npu = installed("torch"), installed("torch_npu")
    if torch is None:
        raise ImportError(f"torch_aclnn needs torch: {install_command()}")
    if torch_npu_releases.is_too_new(release(torch)):
        raise ImportError(f"{torch_npu_releases.refusal(release(torch))}; install what it was built for: {install_command()}")
    if torch_npu is None:
        raise ImportError(f"torch_aclnn needs torch_npu: {install_command()}")
    if torch.get("hip") is not None:
        raise ImportError(
            f"torch {torch['__version__']} is a ROCm build, with which torch_npu does not load; "
            f"install torch's CPU build: {cpu_build_command()}"
        )
    for package, built_for, found in (("torch", _built_for.TORCH, torch), ("torch_npu", _built_for.TORCH_NPU, torch_npu)):
        if minor(release(found)) != minor(built_for):
            raise ImportError(
                f"torch_aclnn was built for {package} {minor(built_for)}, but {release(found)} is installed; "
                f"reinstall torch_aclnn to build it again, or {install_command()}"
            )


def import_extension() -> None:
    """Import the compiled part of the package.

    Raises:
        ImportError: in one message, what the installed torch_npu does not export, and what to install.

    """
    try:
        importlib.import_module("torch_aclnn._C")
    except ImportError as error:
        missing = re.search(r"undefined symbol: (\w*(?:at_npu|c10_npu|torch_npu)\w*)", str(error))
        if missing is None:
            raise
        found = release(installed("torch_npu") or {"__version__": "?"})
        others = f"releases from {torch_npu_releases.OLDEST} to {_built_for.TORCH_NPU}"
        raise ImportError(f"torch_npu {found} does not export {missing[1]}, which {others} have: {install_command()}") from error


def install_command() -> str:
    """Return the pip command that installs the versions that this build was made for."""
    return f'pip install "torch=={minor(_built_for.TORCH)}.*" "torch_npu=={minor(_built_for.TORCH_NPU)}.*"'


def cpu_build_command() -> str:
    """Return the pip command that replaces another build of torch by the CPU build."""
    # Without the tag +cpu, pip would keep an installed build of the same release.
    return f'pip install "torch=={_built_for.TORCH}+cpu" --index-url {CPU_BUILDS}'


def is_cuda_build() -> bool:
    """Return whether the installed torch is a CUDA build that fits this build."""
    torch = installed("torch")
    return torch is not None and torch.get("cuda") is not None and minor(release(torch)) == minor(_built_for.TORCH)


def release(version: dict[str, object]) -> str:
    """Return the release of a ``version.py``'s variables, without the build's tag: ``2.13.0+cpu`` is ``2.13.0``."""
    return str(version["__version__"]).split("+")[0]


def minor(release: str) -> str:
    """Return the minor version that a release belongs to: ``2.13.0.post1`` belongs to ``2.13``."""
    return ".".join(release.split(".")[:2])
