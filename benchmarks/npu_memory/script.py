"""What a script of the CI starts: the program, its arguments and its environment."""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.npu_memory.data import MODELS, VOCABULARIES
from benchmarks.npu_memory.stacks import Stack

# Replaces torchrun and python -m torch.distributed.launch: it writes the command that it was to start, and starts nothing.
_LAUNCHER = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
if os.path.basename(sys.argv[0]) == "python":
    if arguments[:2] != ["-m", "torch.distributed.launch"]:
        os.execv("{python}", ["{python}", *arguments])
    arguments = arguments[2:]
json.dump({{"arguments": arguments, "environment": dict(os.environ)}}, open("{seen}", "w"))
"""
# What scripts would change of the machine: packages that they install, folders that they empty.
_LEFT_UNDONE = ("pip", "pip3", "rm", "mkdir", "cp", "mv", "kill", "pkill")
# Options for checkpoints, logs and tokenizers' files, none of which exist here.
_LEFT_OUT = {
    *("--load", "--save", "--tensorboard-dir", "--tokenizer-model", "--vocab-file", "--merge-file", "--tokenizer-not-use-fast"),
    *("--enable-hf2mg-convert", "--enable-mg2hf-convert", "--model-type-hf"),
}
_NOT_OF_THE_SCRIPT = {"_", "SHLVL", "PWD", "OLDPWD", "PATH", "HOME"}


@dataclass(frozen=True)
class Command:
    """The script's program, with paths of data on this machine and everything else unchanged."""

    program: str
    arguments: list[str]
    environment: dict[str, str]
    ranks: int


def command(stack: Stack, name: str, data: Path) -> Command:
    """Return what the script of that name starts."""
    arguments, environment = _started(stack, name)
    at = next(index for index, argument in enumerate(arguments) if argument.endswith(".py"))
    launcher = dict(zip(arguments[:at:2], arguments[1:at:2], strict=False))
    ranks = int(launcher["--nproc_per_node"]) * int(launcher.get("--nnodes", 1))
    # Some scripts take the folder of the program from their own, which was another in the CI.
    program = arguments[at] if (stack.programs / arguments[at]).exists() else Path(arguments[at]).name
    return Command(program, _with_own_data(program, arguments[at + 1 :], name, data), environment, ranks)


def _started(stack: Stack, name: str) -> tuple[list[str], dict[str, str]]:
    scripts = sorted(stack.programs.glob(f"tests/**/{name}.sh"))
    scripts = [script for script in scripts if "mindspore" not in str(script)] or scripts
    if not scripts:
        raise LookupError(f"no script {name}.sh")
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder, "seen.json")
        for launcher in ("torchrun", "python"):
            Path(folder, launcher).write_text(_LAUNCHER.format(python=sys.executable, seen=seen))
            Path(folder, launcher).chmod(0o755)
        for command in _LEFT_UNDONE:
            Path(folder, command).symlink_to("/bin/true")
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}
        subprocess.run(["bash", scripts[-1]], check=False, cwd=stack.programs, env=environment, capture_output=True)
        if not seen.exists():
            raise LookupError(f"{scripts[-1].name} started no torchrun")
        found = json.loads(seen.read_text())
    return found["arguments"], {key: value for key, value in found["environment"].items() if key not in _NOT_OF_THE_SCRIPT}


def _with_own_data(program: str, arguments: list[str], name: str, data: Path) -> list[str]:
    options: dict[str, list[str]] = {}
    for argument in arguments:
        if argument.startswith("--") or not options:
            options.pop(argument, None)  # if an option is given twice, the last one counts
            options[argument] = []
        else:
            options[next(reversed(options))].append(argument)
    model = " ".join(options.get("--tokenizer-name-or-path", []) + options.get("--tokenizer-model", [])).lower()
    vocabulary = _vocabulary(model) or _vocabulary(name) or MODELS[-1][1]
    if "--data-path" in options:
        options["--data-path"] = [str(data / _documents(program, options))]
    if "--tokenizer-name-or-path" in options:
        options["--tokenizer-name-or-path"] = [str(data / "tokenizer" / vocabulary)]
    if options.get("--tokenizer-type", ["PretrainedFromHF"]) != ["PretrainedFromHF"]:
        options |= {"--tokenizer-type": ["NullTokenizer"], "--vocab-size": [str(VOCABULARIES[vocabulary] - 1)]}
    return [word for option, values in options.items() if option not in _LEFT_OUT for word in (option, *values)]


def _documents(program: str, options: dict[str, list[str]]) -> str:
    if "--is-instruction-dataset" not in options and "posttrain" not in program:
        return "text_document"
    if {"dpo", "orm"} & set(options.get("--stage", [])):
        return "pair"
    is_packed = "--reset-attention-mask" in options or "--neat-pack" in options
    return f"pack{options['--seq-length'][0]}" if is_packed else "tune"


def _vocabulary(model: str) -> str | None:
    return next((words for pattern, words in MODELS[:-1] if re.search(pattern, model)), None)
