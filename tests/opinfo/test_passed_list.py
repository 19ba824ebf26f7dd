"""The list of what passes grows on request and never shrinks."""

import pytest

from opinfo.passed_list import PassedList

pytestmark = pytest.mark.opinfo


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "foo.txt").write_text("ours-f-float32-forward 5/7\n")
    return tmp_path / "default"


def test_a_listed_case_with_its_numbers_passes(folder):
    PassedList(folder, update=False).compare("foo", "ours-f-float32-forward", 5, 7)


@pytest.mark.parametrize(("case", "passed"), [("ours-f-float32-backward", 1), ("ours-f-float32-forward", 6)])
def test_what_is_not_listed_fails_and_is_added_on_request(folder, case, passed):
    with pytest.raises(pytest.fail.Exception, match="add it with: pytest tests/opinfo --opinfo-update"):
        PassedList(folder, update=False).compare("foo", case, passed, 7)
    updated = PassedList(folder, update=True)
    updated.compare("foo", case, passed, 7)
    updated.write()
    PassedList(folder, update=False).compare("foo", case, passed, 7)


@pytest.mark.parametrize("update", [False, True])
def test_fewer_samples_than_listed_fail_whatever_is_requested(folder, update):
    with pytest.raises(pytest.fail.Exception, match=r"4 of 7 samples pass, but 5 of 7 are listed in passed/default/foo.txt$"):
        PassedList(folder, update).compare("foo", "ours-f-float32-forward", 4, 7)
