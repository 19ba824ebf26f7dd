"""The site's page of coverage tells what the engine's libraries really export and refuse."""

import ctypes
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch_npu
from torch_aclnn.host.codes import error_codes
from torch_aclnn.host.registry import entry_points
from torch_aclnn.loading.paths import libdir

from support.marks import refused_at_once
from support.scripts import DOCS, load

GENERATOR = load(DOCS / "_extensions" / "engine_coverage.py")
ENTRY_POINTS = [entry_point for entry_point in entry_points() if not entry_point.refused]
REFUSED = [entry_point for entry_point in entry_points() if entry_point.refused]
LIBRARIES = [ctypes.CDLL(str(libdir() / name)) for name in ("libopapi.so", "libaclnn_math.so")]


def test_the_page_has_a_place_for_each_list():
    page = (DOCS / "coverage.md").read_text()
    assert re.findall("<!-- list: (.*) -->", page) == list(GENERATOR.lists())
    assert "### Vision (" in GENERATOR.filled("coverage", page) and "<!--" not in GENERATOR.filled("coverage", page)


def test_the_page_of_error_codes_has_each_code():
    page = GENERATOR.filled("error_codes", (DOCS / "error_codes.md").read_text())
    assert {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)} == {code.number for code in error_codes()}


def test_the_page_does_not_tell_which_library_answers():
    tables = [GENERATOR.family_table(family, found) for family, found in GENERATOR.families(ENTRY_POINTS).items()]
    elsewhere = [replace(entry_point, parameters=()) for entry_point in reversed(ENTRY_POINTS)]
    assert tables == [GENERATOR.family_table(family, found) for family, found in GENERATOR.families(elsewhere).items()]


def test_an_operator_stands_beside_the_adapters_of_its_family():
    families = {entry_point.name: entry_point.family for entry_point in ENTRY_POINTS}
    assert families["aclnnAvgPool2dBackward"] == families["aclnnMaxUnpool3dBackward"] == families["aclnnAvgPool2d"] == "vision"
    assert families["aclnnReplicationPad2dBackward"] == families["aclnnReplicationPad2d"] == "vision"
    assert families["aclnnBatchNormElemtBackward"] == families["aclnnBatchNormElemt"] == "normalization"


def test_each_listed_entry_point_is_exported_with_both_phases():
    for name in map(str, ENTRY_POINTS):
        assert any(hasattr(library, name) and hasattr(library, name + "GetWorkspaceSize") for library in LIBRARIES), name


def test_each_listed_refusal_is_exported_and_fails():
    libraries = {"runtime": ctypes.CDLL("libascendcl.so"), "operators": LIBRARIES[0]}
    assert REFUSED and all(hasattr(libraries[entry_point.family], entry_point.name) for entry_point in REFUSED)
    assert libraries["runtime"].aclmdlInitDump() != 0 and "aclmdlInitDump" in map(str, REFUSED)
    for entry_point in REFUSED:
        if entry_point.family == "operators":
            assert getattr(LIBRARIES[0], f"{entry_point.name}GetWorkspaceSize")() == LIBRARIES[0][entry_point.name]() == 561003


def test_the_vocabulary_tells_which_names_torch_npu_looks_up():
    rows = {row["entry point"]: row for row in GENERATOR.vocabulary()}
    words = set()
    for library in (Path(torch_npu.__file__).parent / "lib").glob("*.so"):
        words |= {word.decode() for word in re.findall(rb"aclnn[A-Z]\w*", library.read_bytes())}
    looked_up = {word for word in words if f"{word}GetWorkspaceSize" in words}
    if torch_npu.__version__.startswith("2.13."):
        assert {name for name, row in rows.items() if row["torch_npu"] == "yes"} == looked_up


def test_what_a_file_says_of_several_records_is_of_known_words_and_records(tmp_path, monkeypatch):
    (tmp_path / "family.yaml").write_text("facts: {fills: section, odd: aclnnFoo}\nsection: {aclnnFoo: {call: Int number}}")
    monkeypatch.setattr(GENERATOR.records, "FOLDER", tmp_path)
    with pytest.raises(GENERATOR.records.RecordError, match="got odd"):
        GENERATOR.records.read.__wrapped__("family")


def test_no_exported_entry_point_is_missing_from_the_list():
    exported = set()
    for name in ("libopapi.so", "libaclnn_math.so"):
        content = (libdir() / name).read_bytes()
        exported |= set(re.findall(rb"(?<=\0)([a-zA-Z]\w*)GetWorkspaceSize(?=\0)", content))
    refused = {str(entry_point) for entry_point in entry_points() if entry_point.refused and str(entry_point).startswith("aclnn")}
    assert {name.decode() for name in exported} == {*map(str, ENTRY_POINTS), *refused}


def test_no_entry_point_is_listed_twice():
    assert len(set(map(str, entry_points()))) == len(entry_points())


@pytest.mark.parametrize(
    ("types", "named"),
    [
        ((0, 1, 27), "FLOATING"),
        ((0, 1), "FLOAT, FLOAT16"),
        ((0, 1, 27, 11, 16, 17), "FLOATING, DOUBLE, COMPLEX"),
        ((2, 4, 6, 3, 9, 12), "INTEGRAL, BOOL"),
        ((0, 1, 27, 11, 2, 4, 6, 3, 9, 12, 16), "REAL, BOOL, COMPLEX64"),
        ((0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 16, 17, 27), "ANY"),
    ],
)
def test_data_types_are_named_by_their_largest_sets(types, named):
    assert GENERATOR.type_names(frozenset(types)) == named


def test_a_data_type_without_a_name_is_an_error():
    with pytest.raises(ValueError, match="33"):
        GENERATOR.type_names(frozenset({0, 33}))


def test_the_numbers_of_the_data_types_are_those_of_the_header():
    header = (DOCS.parent / "csrc" / "include" / "acl" / "acl_base.h").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"^    ACL_([A-Z][A-Z0-9_]*) = (\d+)", header, re.MULTILINE)}
    assert {name: numbers[name] for name in GENERATOR.TYPES} == GENERATOR.TYPES


# The engine refuses these when they are called. Operators that are not here torch_npu itself refuses, because it does not find them.
LATE = dict.fromkeys(("tensors of float8 types", "torch_npu.npu_dynamic_mx_quant"), refused_at_once)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["operation"], marks=LATE.get(row["operation"], ())) for row in GENERATOR.absent_operations()]
)
def test_an_absent_operation_is_refused_by_name(row):
    inputs = {
        "x": torch.randn(3, 4, device="npu", requires_grad=True),
        "image": torch.randn(1, 2, 4, 4, device="npu", requires_grad=True),
        "index": torch.tensor([2, 0, 1]).npu(),
    }
    with pytest.raises(RuntimeError, match=row["names"]):
        try:
            eval(row["example"], {"torch": torch, "torch_npu": torch_npu}, inputs)
        finally:
            torch.npu.synchronize()
