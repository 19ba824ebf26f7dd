"""Run the cells of examples/first_look.ipynb, as Jupyter would, and keep in it what they print.

python docs/run_notebook.py            # after a change of a cell
python docs/run_notebook.py --check    # only compare; decimals may differ by a twentieth, as they do between machines
"""

import argparse
import ast
import contextlib
import io
import json
import math
import re
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "first_look.ipynb"
DECIMAL = re.compile(r"\d+\.\d*")


def run(source: str, variables: dict[str, Any]) -> tuple[str, str]:
    """Run a cell, and return what it prints and the value of an expression at its end."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), variables)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), variables) if last else None
    return printed.getvalue(), "" if value is None else repr(value)


def outputs(printed: str, value: str, number: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell in the notebook's format."""
    stream = {"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}
    data = {"text/plain": value.splitlines(keepends=True)}
    result = {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
    return [*([stream] if printed else []), *([result] if value else [])]


def text(kept: list[dict[str, Any]]) -> str:
    """Return the text of a cell's outputs."""
    return "\n".join("".join(output.get("text") or output["data"]["text/plain"]) for output in kept)


def alike(first: str, second: str) -> bool:
    """Return whether two texts are the same but for decimals, which are near each other."""
    pairs = zip(DECIMAL.findall(first), DECIMAL.findall(second), strict=False)
    same = DECIMAL.split(first) == DECIMAL.split(second)
    return same and all(math.isclose(float(a), float(b), rel_tol=0.05, abs_tol=0.005) for a, b in pairs)


def main() -> None:
    """Run the notebook, and write or compare its outputs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    notebook = json.loads(NOTEBOOK.read_text())
    variables: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        source = "".join(cell["source"])
        kept, cell["outputs"] = cell["outputs"], outputs(*run(source, variables), number)
        cell["execution_count"] = number
        if check and not alike(text(kept), text(cell["outputs"])):
            raise SystemExit(f"{NOTEBOOK.name}: expected of\n{source}\nwhat it keeps:\n{text(kept)}\ngot:\n{text(cell['outputs'])}")
    if not check:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
