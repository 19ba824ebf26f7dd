"""``python -m torch_aclnn``: the ``torch-aclnn`` command, where the package imports."""

import sys

from torch_aclnn_command import main

if __name__ == "__main__":
    sys.exit(main())
