"""What differs from torch_npu's list, as docs/documented_apis.tsv has it: a row for an outcome, a reason and data types, with its APIs."""

import csv
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[2] / "docs" / "documented_apis.tsv"
FIGURES = Path(__file__).parent / "figures.tsv"
KEY = ("listed", "outcome", "products", "types", "reason")
COLUMNS = (*KEY, "explanation", "APIs")
# For each product: pairs that are listed, those that are not though the API is, and APIs that PyTorch has no samples for.
OUTCOMES = ("runs", "CPU", "refused", "fails in torch_npu")
Rows = dict[tuple[str, ...], list[str]]


def reason(trial: dict[str, Any]) -> str:
    """Say why a pair is not as listed: what the engine refuses, or who says that the entry points take the type."""
    if trial["outcome"] != "runs":
        return _without_numbers(trial["why"])
    pages = {_page(taken, trial["type"]) for taken in trial["taken"]}
    return "; ".join(sorted(pages - {""})) or ("the entry point's page lists it" if pages else "no entry point is called with it")


NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "bfloat16": "BF16"}


def _page(taken: str, dtype: str) -> str:
    """Return the reason that a record has for a type that its page does not list."""
    entry_point, _, page = taken.partition(": ")
    name = NAMES.get(dtype, dtype.upper())
    base, _, differences = page.partition(" but ")
    if found := re.search(rf"\+{name}\b[^:]*: (.*)", differences):
        return f"{entry_point.split()[0]}: {found[1]}"
    return "" if re.match(r"[\d.]+|own", base) else f"{entry_point.split()[0]}: {base or 'no page was read'}"


def _without_numbers(text: str) -> str:
    """Return the entry point and its parameter; data types and sizes differ from call to call."""
    found = re.match(r"(acl\w+: \w+): expected a data type", text)
    return f"{found[1]}" if found else re.sub(r"\[[^\]]*\]", "[...]", re.sub(r"-?\d+(\.\d+)?", "N", text))[:120]


def rows(trials: dict[str, list[dict[str, Any]]]) -> Rows:
    """Return the rows of the trials of each product: the pairs that are listed and do not run, and those that run and are not listed."""
    products: dict[tuple[str, ...], list[str]] = {}
    for product, of_product in trials.items():
        for trial in of_product:
            if "type" in trial and trial["listed"] != (trial["outcome"] == "runs"):
                listed = "yes" if trial["listed"] else "no"
                if listed == "no" and trial["outcome"] != "runs":
                    continue
                key = (trial["api"].removeprefix("torch."), listed, trial["outcome"], reason(trial), trial["type"])
                products.setdefault(key, []).append(product)
    types: dict[tuple[str, ...], list[str]] = {}
    for (*key, dtype), of in products.items():
        types.setdefault((*key, " ".join(of)), []).append(dtype)
    found: Rows = {}
    for (api, listed, outcome, why, of), names in types.items():
        found.setdefault((listed, outcome, of, " ".join(names), why), []).append(api)
    return found


def figures(trials: dict[str, list[dict[str, Any]]]) -> list[dict[str, object]]:
    """Return the counts of pairs, a row a product."""
    found: list[dict[str, object]] = []
    for product, of_product in trials.items():
        counted = Counter((trial["listed"], trial["outcome"]) for trial in of_product if "type" in trial)
        row: dict[str, object] = {"product": product}
        for listed, words in ((True, "listed"), (False, "not listed")):
            row |= {f"{words}: {outcome}": counted[listed, outcome] for outcome in OUTCOMES}
        row |= {"APIs": len({trial["api"] for trial in of_product if "type" in trial})}
        found.append(row | {"APIs without samples": sum(trial.get("types", 0) > 0 for trial in of_product)})
    return found


def _read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines(), delimiter="\t")) if path.exists() else []


def read(path: Path) -> Rows:
    return {tuple(row[name] for name in KEY): row["APIs"].split() for row in _read(path)}


def write(path: Path, table: Rows) -> None:
    """Write the table; the explanations, which people write, stay with the outcomes and reasons."""
    explanations = {(row["outcome"], row["reason"]): row["explanation"] for row in _read(path) if row["explanation"]}
    lines = [COLUMNS, *((*key, explanations.get((key[1], key[4]), ""), " ".join(sorted(apis))) for key, apis in sorted(table.items()))]
    path.write_text("".join("\t".join(line) + "\n" for line in lines))


def pairs(table: Rows) -> set[tuple[str, ...]]:
    """Return the single differences: product, API, data type, and what becomes of it."""
    return {
        (product, api, dtype, f"{'listed' if listed == 'yes' else 'not listed'} and {outcome}: {why}")
        for (listed, outcome, products, types, why), apis in table.items()
        for product in products.split()
        for dtype in types.split()
        for api in apis
    }


def differences(new: Rows, old: Rows) -> Iterable[str]:
    """Yield the rows that only one of the tables has."""
    for mark, found in (("+", pairs(new) - pairs(old)), ("-", pairs(old) - pairs(new))):
        yield from (f"{mark} {' '.join(pair)}" for pair in sorted(found))
