"""torch_npu's list of torch's APIs (docs/zh/api/native_api of a checkout): for which products each is, and with which data types."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch

FOLDER = "docs/zh/api/native_api"
# The products by their names on the pages.
PRODUCTS = {"Atlas A2 训练系列产品": "A2", "Atlas A3 训练系列产品": "A3", "Ascend 950DT": "950"}
SHORT = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
TYPES = {
    name: getattr(torch, SHORT.get(name, name))
    for name in (*SHORT, *SHORT.values(), "uint8", "int8", "int16", "int32", "int64", "bool", "complex64", "complex128")
}
NAMES = "|".join(TYPES)
LIST = rf"((?:{NAMES})(?:\W+(?:{NAMES}))*)"


@dataclass(frozen=True)
class Api:
    """An API: the data types of its first tensor, by product."""

    name: str
    types: dict[str, frozenset[torch.dtype]]


def read_pages(checkout: Path) -> list[Api]:
    """Return the APIs whose pages name data types, from a work tree or a bare repository, for the version of torch that is installed."""
    folder = f"{FOLDER}/pytorch_{'-'.join(torch.__version__.split('+')[0].split('.'))}"
    if (checkout / folder).is_dir():
        texts = [path.read_text() for path in sorted((checkout / folder).glob("*.md"))]
    else:
        names = _git(checkout, "ls-tree", "--name-only", "HEAD", f"{folder}/").split()
        texts = [_git(checkout, "show", f"HEAD:{name}") for name in names if name.endswith(".md")]
    if not texts:
        raise SystemExit(f"{checkout}: expected a checkout of torch_npu that has {folder}")
    found = [api for text in texts for part in re.split(r"\*\*原生文档\*\*\W", text)[1:] if (api := _api(part)) is not None]
    return list({api.name: api for api in found}.values())


def _git(checkout: Path, *arguments: str) -> str:
    directory = checkout / ".git" if (checkout / ".git").exists() else checkout
    return subprocess.run(["git", f"--git-dir={directory}", *arguments], capture_output=True, text=True, check=True).stdout


def _api(text: str) -> Api | None:
    """Return the API of a section that begins with the link to torch's page, if data types of its first tensor are named."""
    name = re.match(r"\[([^\]]+)\]", text)
    products = [PRODUCTS[term] for term in re.findall(r"\| <term>(.*?)</term> \| ✔", text) if term in PRODUCTS]
    types: dict[str, frozenset[torch.dtype]] = {}
    for line in text.partition("限制与说明")[2].splitlines():
        named = [PRODUCTS[term] for term in re.findall("<term>(.*?)</term>", line) if term in PRODUCTS] or products
        if found := re.search(f"`(?:input|self|tensor)`仅支持{LIST}", line):
            types |= {product: types.get(product, _types(found[1])) for product in named}
        elif found := re.search(f"额外支持{LIST}", line):
            types |= {product: types.get(product, frozenset()) | _types(found[1]) for product in named}
        elif types and (found := re.search(f"^- .*不支持{LIST}", line)):
            types |= {product: types.get(product, frozenset()) - _types(found[1]) for product in named}
    types = {product: types[product] for product in products if types.get(product)}
    return Api(f"torch.{name[1].removeprefix('torch.')}", types) if name and types else None


def _types(text: str) -> frozenset[torch.dtype]:
    return frozenset(TYPES[name] for name in re.findall(r"\w+", text))
