"""Write the repository's address into every file that names it, in place of the one that pyproject.toml has.

python docs/set_address.py https://github.com/you/torch_aclnn
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# pyproject.toml is read first, and written last.
FILES = (
    "README.md",
    "README.zh-CN.md",
    "SECURITY.md",
    "docs/ci/github-actions.yml",
    "docs/ci/tests.sh",
    "torch_aclnn/_repository.py",
    "pyproject.toml",
)


def address(root: Path = ROOT) -> str:
    """Return the address that pyproject.toml has."""
    found = re.search(r'^Repository = "(.*)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("pyproject.toml: expected a line Repository = ...")
    return found[1]


def write(new: str, root: Path = ROOT) -> None:
    """Replace the address in all files."""
    old = address(root)
    for name in FILES:
        text = (root / name).read_text()
        (root / name).write_text(text.replace(old, new))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    write(parser.parse_args().address.rstrip("/").removesuffix(".git"))
