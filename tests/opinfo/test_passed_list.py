"""The list of what passes grows on request and never shrinks."""

import pytest

from opinfo.passed_list import PassedList

pytestmark = pytest.mark.opinfo


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "passed" / "default"
    folder.mkdir(parents=True)
    (folder / "foo.txt").write_text("ours-f-float32-forward 5/7\n")
    return folder


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


def test_another_version_has_a_list_of_what_differs(folder):
    PassedList(folder, False, "2.10").compare("foo", "ours-f-float32-forward", 5, 7)
    with pytest.raises(pytest.fail.Exception, match=r"5 of 7 are listed in passed/default/2.10/foo.txt; add it with"):
        PassedList(folder, False, "2.10").compare("foo", "ours-f-float32-forward", 4, 6)
    updated = PassedList(folder, True, "2.10")
    updated.compare("foo", "ours-f-float32-forward", 4, 6)
    updated.write()
    PassedList(folder, False, "2.10").compare("foo", "ours-f-float32-forward", 4, 6)
    PassedList(folder, update=False).compare("foo", "ours-f-float32-forward", 5, 7)
    with pytest.raises(pytest.fail.Exception, match=r"3 of 6 samples pass, but 4 of 6 are listed in passed/default/2.10/foo.txt$"):
        PassedList(folder, True, "2.10").compare("foo", "ours-f-float32-forward", 3, 6)


def test_a_version_without_differences_has_no_folder(folder):
    listed = PassedList(folder, True, "2.12")
    listed.compare("foo", "ours-f-float32-forward", 5, 7)
    listed.write()
    assert [path.name for path in folder.iterdir()] == ["foo.txt"]
