"""``python -m torch_aclnn``: the ``torch-aclnn`` command."""

import sys

if __name__ == "__main__":
    if not hasattr(sys.modules["torch_aclnn"], "__version__"):
        del sys.modules["torch_aclnn"]  # without contents, see _run_as_module
    from torch_aclnn_command import main

    sys.exit(main())
