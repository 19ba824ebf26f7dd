"""The list of what passes grows on request and never shrinks."""

import pytest

from opinfo.passed_list import PassedList

pytestmark = pytest.mark.opinfo


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "default.txt"
    path.write_text("ours-f-float32-forward 5/7\n")
    return path


def test_a_listed_case_with_its_numbers_passes(path):
    PassedList(path, update=False).compare("ours-f-float32-forward", 5, 7)


@pytest.mark.parametrize(("case", "passed"), [("ours-f-float32-backward", 1), ("ours-f-float32-forward", 6)])
def test_what_is_not_listed_fails_and_is_added_on_request(path, case, passed):
    with pytest.raises(pytest.fail.Exception, match="add it with: pytest tests/opinfo --opinfo-update"):
        PassedList(path, update=False).compare(case, passed, 7)
    updated = PassedList(path, update=True)
    updated.compare(case, passed, 7)
    updated.write()
    PassedList(path, update=False).compare(case, passed, 7)


@pytest.mark.parametrize("update", [False, True])
def test_fewer_samples_than_listed_fail_whatever_is_requested(path, update):
    with pytest.raises(pytest.fail.Exception, match=r"4 of 7 samples pass, but 5 of 7 are listed in passed/default.txt$"):
        PassedList(path, update).compare("ours-f-float32-forward", 4, 7)
