"""What a dry run assumed, for its report."""

import os


def add_finding(kind: str) -> None:
    """Add a line to what a dry run's report says was assumed."""
    if file := os.environ.get("TORCH_ACLNN_HOST_FINDINGS"):
        with open(file, "a") as findings:
            findings.write(f"{kind}\n")
