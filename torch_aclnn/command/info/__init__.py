"""``torch-aclnn info``: what is installed, whether it fits together, and the command that fixes it."""
