"""Backward operators of Ascend CANN for PyTorch, and an engine that runs them without an NPU.

Importing this package decides which libraries answer on the ``npu`` device (CANN's, or the host engine's), loads the engine's, and
then imports ``torch`` and ``torch_npu``. Where the import hook is switched off, import it before ``torch``.

Example:
    >>> import torch_aclnn, torch
    >>> x = torch.ones(1, 1, 4, 4, device="npu", requires_grad=True)
    >>> torch_aclnn.functional.avg_pool2d(x, kernel_size=2).sum().backward()
    >>> x.grad[0, 0, 0].tolist()
    [0.25, 0.25, 0.25, 0.25]

"""

from torch_aclnn import _source_tree

if _source_tree.is_built():
    import torch_aclnn_import_hook
    from torch_aclnn import host
    from torch_aclnn.loading.engine import activate
    from torch_aclnn.loading.versions import check_versions, import_extension

    activate()
    check_versions()
    torch_aclnn_import_hook.install()  # if Python has not installed it at its start

    import torch  # noqa: F401
    import torch_npu  # noqa: F401

    # isort: split
    import_extension()
    from torch_aclnn import autograd, functional, nn
    from torch_aclnn._conversion import convert, revert
    from torch_aclnn._patching import patch, unpatch

    __version__ = "0.2.0"
    __all__ = ["autograd", "convert", "functional", "host", "nn", "patch", "revert", "unpatch"]

    def __dir__() -> list[str]:
        """Return the public names, without torch and torch_npu."""
        return [*__all__, "__version__"]
else:
    _source_tree.import_installed()  # `import torch_aclnn` then returns the installed package
