"""What the documents show as code runs: each block of Python, and the commands that they name exist."""

import functools
import re
import shlex
from pathlib import Path

import torch_aclnn
import pytest

from support.subprocesses import output_of

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
BLOCK = re.compile(r"((?:<!-- .* -->\n)?)```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# A comment before a block says with which environment it runs, in a process of its own, or why it is not run.
ENVIRONMENT = re.compile(r"<!-- environment: (.*) -->")
NOT_RUN = re.compile(r"<!-- not run: (.*) -->")
NOT_RUN_COUNT = 2

# What runs before the blocks of a page that use names without defining them.
ASSUMED = dict.fromkeys(("README.md", "README.zh-CN.md"), "model = torch.nn.Sequential(torch.nn.AvgPool2d(2))")

# Commands behind which the rest of the line belongs to Python.
RUNS_A_PROGRAM = ("run", "coverage", "dryrun")


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    """Return the comment before each block of the page in one of the languages, and its text."""
    return [(comment, text) for comment, language, text in BLOCK.findall(page.read_text()) if language in languages]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_the_python_of_a_page_runs(page: Path):
    variables: dict[str, object] = {}
    if name(page) in ASSUMED:
        exec("import torch, torch_aclnn\n" + ASSUMED[name(page)], variables)
    try:
        for comment, text in blocks(page, "python"):
            environment = ENVIRONMENT.match(comment)
            if environment:
                output_of(text, **dict(setting.split("=", 1) for setting in environment[1].split()))
            elif not NOT_RUN.match(comment):
                exec(compile(text, name(page), "exec"), variables)
    finally:
        torch_aclnn.unpatch()


def test_what_is_not_run_has_a_reason_and_is_counted():
    reasons = [NOT_RUN.match(comment) for page in PAGES for comment, _ in blocks(page, "python")]
    assert sum(reason is not None for reason in reasons) == NOT_RUN_COUNT


@functools.cache
def options(command: str) -> frozenset[str]:
    """Return the options that the command's help names; it fails for a command that does not exist."""
    arguments = ["torch-aclnn", command, "--help"]
    shown = output_of(f"import sys; sys.argv = {arguments}; from torch_aclnn_command import main; sys.exit(main())")
    return frozenset(re.findall(r"(?<![\w-])--[\w-]+", shown))


def commands(page: Path) -> list[list[str]]:
    """Return the words of each `torch-aclnn` command in the page's blocks of shell, up to what ends it; those of a session follow a `$`."""
    typed = [text for _, text in blocks(page, "bash", "sh")]
    typed += ["\n".join(re.findall(r"^\$ (.*)", text, re.MULTILINE)) for _, text in blocks(page, "console", "text")]
    found = [line for text in typed for line in re.findall(r"(?<![\w-])torch-aclnn +(\w.*)", text)]
    return [shlex.split(re.split(r"[)\";|]|&&|\s#", line)[0]) for line in found]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=name)
def test_the_commands_of_a_page_exist(page: Path):
    for command, *arguments in commands(page):
        known = options(command)
        own = arguments if command not in RUNS_A_PROGRAM else arguments[:1]
        assert [word for word in own if word.startswith("--") and word.split("=")[0] not in known] == [], f"torch-aclnn {command}"
