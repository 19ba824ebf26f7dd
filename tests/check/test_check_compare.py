"""torch-aclnn check --compare: what is told of two reports, and the exit code."""

import copy
import dataclasses
import json
import sys

import pytest
from torch_aclnn.check import records
from torch_aclnn.check.compare import compare
from torch_aclnn.check.report import Report
from torch_aclnn.command import cli

CHECK = records.Check("values", "avg_pool2d", records.PASSED, 1, "float32", "contiguous", error_ulp=1.5, limit_ulp=8.0)
MACHINE = {"cann": "8.5.0", "switches": {"ACL_A": "1"}, "libraries": {"/a/libopapi.so": "0" * 64}}


def written(path, *found, **machine):
    report = Report(["avg_pool2d"], [1], machine={**copy.deepcopy(MACHINE), **machine}, checks=list(found), total=len(found))
    path.write_text(json.dumps(report.document()))
    return path


def test_the_same_report_differs_in_nothing(tmp_path, capsys):
    file = written(tmp_path / "a.json", CHECK)
    assert compare(file, file) == 0
    assert capsys.readouterr().out.count("nothing differs") == 3


def test_machines_answers_and_values_are_told(tmp_path, capsys):
    other = dataclasses.replace(CHECK, operator="max_unpool3d")
    first = written(tmp_path / "a.json", CHECK, other)
    refused = dataclasses.replace(CHECK, status=records.FAILED, error_ulp=None)
    changes = {"cann": "8.3.RC1", "switches": {}, "libraries": {"/b/libopapi.so": "1" * 64}}
    second = written(tmp_path / "b.json", refused, **changes)
    assert compare(first, second) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "",
        "machine: 3 differ",
        "  cann: 8.5.0 -> 8.3.RC1",
        "  ACL_A: 1 -> None",
        "  libopapi.so: 0000000000000000 -> 1111111111111111",
        "",
        "answers: 2 differ",
        "  values avg_pool2d mode 1 float32 contiguous: passed -> failed",
        "  values: 1 in the first report only",
        "",
        "values: 1 differs",
        "  values avg_pool2d mode 1 float32 contiguous: error_ulp 1.5 -> None",
    ]


@pytest.mark.parametrize(
    ("text", "words"), [("{", ": Expecting"), ('{"format": 1}', " with format 1"), ("[]", " with format None"), (None, ": No")]
)
def test_a_file_that_is_no_report_is_refused(tmp_path, monkeypatch, capsys, text, words):
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    monkeypatch.setattr(sys, "argv", ["torch-aclnn", "check", "--compare", *[str(tmp_path / "a.json")] * 2])
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    error = capsys.readouterr().err
    assert error.startswith("torch-aclnn check: --compare: expected a report ") and f"got {tmp_path}/a.json{words}" in error
