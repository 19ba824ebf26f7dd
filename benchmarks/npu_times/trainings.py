"""Estimate published full trainings of dense models by MindSpeed-LLM, by programs in plain torch of the same sizes and layouts.

python -m benchmarks.npu_times.trainings TABLE --checkouts DIR

TABLE has a line for each training: model, sequence as 8K, nodes x NPUs, tokens a second and NPU, separated by tabs. The sizes and the
layout are those of the release's script in examples/ for the model, which DIR has in a bare copy Ascend+MindSpeed-LLM/repo.
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from torch_aclnn.command.parser import Parser

CONSTANT = 0.39  # the average utilisation of published trainings of dense models on A2
_RELEASE = "1.0.RC3"
_HEAD = ("model", "sequence", "published s", "from", "to", "error", "inside", "constant's error")


def main() -> None:
    """Print a line for each training, and then a summary of the errors."""
    parser = Parser(prog="python -m benchmarks.npu_times.trainings", description=__doc__)
    parser.add_argument("table", type=Path, metavar="TABLE", help="what NPUs took")
    parser.add_argument("--checkouts", type=Path, required=True, metavar="DIR", help="a bare copy of the repository")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that 'model sequence' has to match")
    parser.add_argument("--card", default="A2 376T", metavar="NAME", help="A2 376T if not given")
    arguments = parser.parse_args()
    repository = arguments.checkouts.resolve() / "Ascend+MindSpeed-LLM/repo"
    print(*_HEAD, sep="\t", flush=True)
    found = []
    for line in arguments.table.read_text().splitlines()[1:]:
        model, sequence, nodes, tokens, *_ = line.split("\t")
        if not re.search(arguments.only, f"{model} {sequence}"):
            continue
        try:
            ranks = int(nodes.split("x")[0]) * int(nodes.split("x")[1])
            options, batch = _options(repository, model, int(sequence[:-1]) * 1024, ranks)
            published = batch * options["length"] / float(tokens) / ranks
            low, seconds, high, utilisation = _times(options, ranks, batch, arguments.card)
        except LookupError as problem:
            print(model, sequence, f"not estimated: {problem}", sep="\t", flush=True)
            continue
        errors = seconds / published - 1, utilisation * seconds / CONSTANT / published - 1
        found.append((*errors, low <= published <= high))
        row = f"{published:.2f}", f"{low:.2f}", f"{high:.2f}", f"{errors[0]:+.1%}", "yes" if found[-1][2] else "no", f"{errors[1]:+.1%}"
        print(model, sequence, *row, sep="\t", flush=True)
    summarise(found)


def summarise(found: Sequence[tuple[float, float, bool]]) -> None:
    """Print the errors of the estimates and of a constant utilisation, and how many figures are inside their range."""
    if not found:
        return
    for name, errors in (("estimate", [one[0] for one in found]), (f"constant {CONSTANT:.0%}", [one[1] for one in found])):
        sizes = sorted(map(abs, errors))
        nine_of_ten = sizes[min(round(0.9 * len(sizes)), len(sizes) - 1)]
        print(f"{name}: median {statistics.median(sizes):.1%}, nine of ten {nine_of_ten:.1%}, worst {sizes[-1]:.1%}")
    print(f"inside the range: {sum(one[2] for one in found)} of {len(found)}")


def _options(repository: Path, model: str, length: int, ranks: int) -> tuple[dict[str, Any], int]:
    """Return the options of the program, and the sequences of a step."""
    flags = next(iter(sorted(_scripts(repository, model), key=lambda one: _number(one, "seq-length") != length)), None)
    if flags is None:
        raise LookupError("no script")
    if "num-experts" in flags or "sequence-parallel" not in flags:
        raise LookupError("a model with experts, or tensor parallelism of all activations")
    layers, hidden, heads = (_number(flags, name) for name in ("num-layers", "hidden-size", "num-attention-heads"))
    tensor, stages, context = (_number(flags, f"{name}-parallel-size", 1) for name in ("tensor-model", "pipeline-model", "context"))
    if ranks % (tensor * stages * context):
        raise LookupError(f"a layout of {tensor * stages * context} ranks on {ranks}")
    words = _number(flags, "padded-vocab-size") or _number(flags, "vocab-size") or _WORDS.get(model.split()[0].lower(), 32000)
    batch, all_sequences = _number(flags, "micro-batch-size", 1), _number(flags, "global-batch-size")
    of_block = "block" in str(flags.get("recompute-method"))
    recomputed = layers if not of_block else _number(flags, "recompute-num-layers", 1) * (stages if "recompute-granularity" in flags else 1)
    options = {
        **{"layers": layers // stages, "hidden": hidden, "heads": heads, "length": length, "batch": batch, "stages": stages},
        **{"tensor_parallel": tensor, "context_parallel": context, "words": -(-words // (128 * tensor)) * 128 * tensor},
        "groups": _number(flags, "num-query-groups", heads) if "group-query-attention" in flags else heads,
        "feed_forward": _number(flags, "ffn-hidden-size", 4 * hidden),
        "kv_channels": _number(flags, "kv-channels"),
        "activation": next((name for name in ("swiglu", "geglu") if name in flags), "gelu"),
        "recomputed": min(recomputed // stages, layers // stages) if flags.get("recompute-granularity") == "full" else 0,
        "rotary": flags.get("position-embedding-type") == "rope" or "use-rotary-position-embeddings" in flags,
        "layer_norm": flags.get("normalization") != "RMSNorm",
        "bias": "disable-bias-linear" not in flags,
        **{ours: theirs in flags for ours, theirs in _SWITCHES.items()},
        "microbatches": all_sequences // (batch * (ranks // (tensor * stages * context))),
        "chunks": layers // stages // _number(flags, "num-layers-per-virtual-pipeline-stage", layers // stages),
    }
    return options, all_sequences


_WORDS = {"bloom": 250880, "gpt3": 50304}  # models with tokenizers of their own
_SWITCHES = {
    **{"fused_communication": "use-mc2", "sharded_optimizer": "use-distributed-optimizer"},
    **{"fused_attention": "use-flash-attn", "fused_swiglu": "use-fused-swiglu", "fused_rotary": "use-fused-rotary-pos-emb"},
    **{"qkv_bias": "add-qkv-bias", "post_norm": "post-norm", "capped_logits": "output-logit-softcapping"},
}


def _number(flags: dict[str, str], name: str, default: int = 0) -> int:
    return int(flags.get(name) or default)


def _scripts(repository: Path, model: str) -> list[dict[str, str]]:
    """Return the flags of the model's scripts, those of Megatron's core first."""
    words = {word.replace(".", "point") if word[-1] == "b" else word.replace(".", "") for word in model.lower().split()}
    found = []
    for path in _git(repository, "ls-tree", "-r", "--name-only", _RELEASE, "examples").splitlines():
        stem = Path(path).stem.strip().lower()
        if stem.startswith("pretrain_") and words <= set(stem.split("_")):
            found.append(path)
    found.sort(key=lambda path: "/mcore/" not in path)
    return [_flags(_git(repository, "show", f"{_RELEASE}:{path}")) for path in found]


@cache
def _git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True, text=True).stdout


def _flags(script: str) -> dict[str, str]:
    """Return the options that a script hands to its launcher."""
    launch = f'torchrun() {{ printf "%s\\n" "$@"; }}\npython() {{ torchrun "$@"; }}\ntee() {{ cat; }}\n{script}'
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(["bash", "-c", launch], check=False, capture_output=True, text=True, cwd=folder).stdout.splitlines()
    flags: dict[str, str] = {}
    name = ""
    for word in said:
        if word.startswith("--"):
            name = word.removeprefix("--")
            flags[name] = ""
        elif name:
            flags[name] = flags[name] or word
    return flags


def _times(options: dict[str, Any], ranks: int, batch: int, card: str) -> tuple[float, float, float, float]:
    """Return the low, middle and high time of a step, and its utilisation, computed from runs of one and of two microbatches."""
    one, two = (_dry_run({**options, "microbatches": count}, ranks, card) for count in (1, 2))
    more = options["microbatches"] - 1 + (options["stages"] - 1) / options["chunks"]
    seconds = one["seconds"] + more * (two["seconds"] - one["seconds"])
    work = [time["utilisation"] * time["seconds"] for time in (one, two)]
    utilisation = (work[0] + (options["microbatches"] - 1) * (work[1] - work[0])) / seconds
    return seconds * two["low"] / two["seconds"], seconds, seconds * two["high"] / two["seconds"], utilisation


def _dry_run(options: dict[str, Any], ranks: int, card: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        asked = ["dryrun", "--time", "--card", card, "--memory", "4000G", "--json", str(report), "--rank", "0", "--world-size", str(ranks)]
        program = ["-m", "benchmarks.npu_times.gpt", json.dumps(options)]
        done = subprocess.run([sys.executable, "-m", "torch_aclnn", *asked, *program], check=False, capture_output=True, text=True)
        time: dict[str, Any] | None = json.loads(report.read_text())["time"] if report.exists() else None
    if time is None:
        raise LookupError(f"no step: {done.stderr[-300:]}")
    return time


if __name__ == "__main__":
    main()
