"""The list of what passes grows on request and never shrinks."""

import pytest

from opinfo.passed_list import PassedList

pytestmark = pytest.mark.opinfo

ROW = "default\t2.13\tf\tours,torch 5/7 float16,float32 backward,forward\n"
CASE = "ours-f-float32-forward"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "passed.tsv"
    path.write_text(ROW)
    return path


def test_a_listed_case_with_its_numbers_passes(path):
    PassedList(path, "default", update=False).compare(CASE, 5, 7)


@pytest.mark.parametrize(("case", "passed"), [("ours-f-float32-gradcheck", 1), (CASE, 6)])
def test_what_is_not_listed_fails_and_is_added_on_request(path, case, passed):
    with pytest.raises(pytest.fail.Exception, match="add it with: pytest tests/opinfo --opinfo-update"):
        PassedList(path, "default", update=False).compare(case, passed, 7)
    updated = PassedList(path, "default", update=True)
    updated.compare(case, passed, 7)
    updated.write()
    PassedList(path, "default", update=False).compare(case, passed, 7)


@pytest.mark.parametrize("update", [False, True])
def test_fewer_samples_than_listed_fail_whatever_is_requested(path, update):
    with pytest.raises(pytest.fail.Exception, match=r"4 of 7 samples pass, but 5 of 7 are listed in passed.tsv for default, torch 2.13$"):
        PassedList(path, "default", update).compare(CASE, 4, 7)


def test_another_version_has_rows_of_what_differs(path):
    PassedList(path, "default", False, "2.10").compare(CASE, 5, 7)
    updated = PassedList(path, "default", True, "2.10")
    updated.compare(CASE, 4, 6)
    updated.write()
    PassedList(path, "default", False, "2.10").compare(CASE, 4, 6)
    PassedList(path, "default", update=False).compare(CASE, 5, 7)
    with pytest.raises(pytest.fail.Exception, match=r"3 of 6 samples pass, but 4 of 6 are listed in passed.tsv for default, torch 2.10$"):
        PassedList(path, "default", True, "2.10").compare(CASE, 3, 6)


def test_what_is_written_keeps_what_others_wrote_and_how_it_was_written(path):
    first, second = (PassedList(path, engine, True) for engine in ("default", "float64"))
    for listed in (first, second):
        listed.compare("ours-f-float64-forward", 5, 7)
        listed.write()
    first.write()
    PassedList(path, "float64", False).compare("ours-f-float64-forward", 5, 7)
    path.write_text(ROW)
    first = PassedList(path, "default", False)
    first.write()
    assert path.read_text() == ROW
