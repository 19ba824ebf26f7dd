"""Whether the installed torch and torch_npu are those that this build was made for."""

import importlib.util
import runpy
from pathlib import Path


def installed(package: str) -> dict[str, object] | None:
    """Return the variables of the package's ``version.py`` without importing the package; None if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return runpy.run_path(str(Path(spec.origin).parent / "version.py"))


def check_versions() -> None:
    """Check that torch and torch_npu fit each other and this build.

    Raises:
        ImportError: in one sentence, what is wrong and what to install.

    """
    from torch_aclnn import _built_for

    torch, torch_npu = installed("torch"), installed("torch_npu")
    install = f'pip install "torch=={_built_for.TORCH}" "torch_npu=={_built_for.TORCH_NPU}"'
    if torch is None:
        raise ImportError(f"torch_aclnn needs torch: {install}")
    if torch_npu is None:
        raise ImportError(f"torch_aclnn needs torch_npu: {install}")
    if torch.get("cuda") is not None or torch.get("hip") is not None:
        raise ImportError(
            f"torch {torch['__version__']} is a CUDA or ROCm build, beside which torch_npu refuses to load; "
            f"install torch's CPU build ({_built_for.TORCH}+cpu), which pytorch.org offers under Get Started"
        )
    for name, module, built_for in (("torch", torch, _built_for.TORCH), ("torch_npu", torch_npu, _built_for.TORCH_NPU)):
        if release(module) != built_for:
            raise ImportError(
                f"torch_aclnn was built for {name} {built_for}, but {release(module)} is installed; "
                f"reinstall torch_aclnn to build it again, or {install}"
            )


def release(version: dict[str, object]) -> str:
    """Return the release of a ``version.py``'s variables, without the build's tag: ``2.13.0+cpu`` is ``2.13.0``."""
    return str(version["__version__"]).split("+")[0]
