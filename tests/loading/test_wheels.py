"""What the extension takes of torch_npu is exported by every release, or may be absent."""

from pathlib import Path

from torch_aclnn import _C

from support.scripts import DOCS, load
from support.symbols import is_of_torch_npu, qualified_name, undefined_symbols

WHEELS = load(DOCS / "generate_wheels.py")
CANN, FUNCTIONS = WHEELS.read_table()
EXTENSION = Path(_C.__file__)


def of_torch_npu(*, weak: bool) -> set[str]:
    return {symbol for symbol in undefined_symbols(EXTENSION, weak=weak) if is_of_torch_npu(symbol)}


def test_the_import_needs_nothing_that_a_release_lacks():
    """Undefined symbols that are not weak end an import where they are missing, after a build that says nothing."""
    exported = {function.symbol: function.releases for function in FUNCTIONS}
    lacking = {symbol: WHEELS.ranges(CANN.keys() - exported.get(symbol, ()), CANN) for symbol in of_torch_npu(weak=False)}
    assert {symbol: releases for symbol, releases in lacking.items() if releases != "none"} == {}


def test_each_function_of_torch_npu_that_the_extension_names_is_in_the_table():
    assert of_torch_npu(weak=True) <= {function.symbol for function in FUNCTIONS}


def test_names_are_those_of_the_symbols():
    assert [(function.name, function.symbol) for function in FUNCTIONS if function.name != qualified_name(function.symbol)] == []


def test_the_documents_say_what_the_table_says(monkeypatch):
    monkeypatch.setattr("sys.argv", ["generate_wheels.py", "--check"])
    WHEELS.main()


def test_ranges_are_exact():
    texts = {"": "none", "abcde": "all", "b": "b", "ab": "a to b", "e": "e on", "acde": "a, c on", "abd": "a to b, d"}
    assert {some: WHEELS.ranges(some, "abcde") for some in texts} == texts


def test_names_of_one_row_that_differ_are_told_apart():
    exported = {"f": {"1", "2"}, "g": {"2"}, "h": {"1", "2"}}
    assert WHEELS.exported_by("`f`, `g`, `h`", exported, ["1", "2"]) == "`f`, `h`: all; `g`: 2 on"
    assert WHEELS.exported_by("`f`, `h`", exported, ["1", "2"]) == "all"
