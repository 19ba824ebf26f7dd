"""The runner of clients' tests, on test files made up here: what passes, fails, hangs, crashes or does not import."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from client_suites.causes import cause
from client_suites.lists import Lists, figures
from client_suites.records import Outcome, Record, read_record, write_line
from support.subprocesses import environment_with

ROOT = Path(__file__).resolve().parents[2]
BEGINNING = "import multiprocessing, os, time, unittest, numpy, torch\nfrom torch_npu.testing.testcase import TestCase, run_tests\n"
FILES = {
    "passes": """
        class TestIt(TestCase):
            def test_add(self):
                self.assertEqual((torch.ones(2).npu() + 1).cpu(), torch.full((2,), 2.0))

            @unittest.skip("needs another chip")
            def test_other(self):
                pass
        """,
    "fails": """
        class TestIt(TestCase):
            def test_good(self):
                self.assertTrue(True)

            def test_wrong(self):
                self.assertEqual(1, 2)

            def test_left_on_the_stream(self):
                torch.ones(2, 3).npu()[:, torch.tensor([7]).npu()]

            def test_of_parts(self):
                for part in (1, 2):
                    with self.subTest(part=part):
                        self.assertEqual(part, 1)
        """,
    "hangs": """
        class TestIt(TestCase):
            def test_a(self):
                pass

            def test_b(self):
                time.sleep(1000)

            def test_c(self):
                pass
        """,
    "crashes": """
        class TestIt(TestCase):
            def test_a(self):
                pass

            def test_b(self):
                os.abort()

            def test_c(self):
                os._exit(3)

            def test_d(self):
                pass
        """,
    "imports": "import no_such_module\n",
    "allocates": """
        class TestIt(TestCase):
            def test_too_much(self):
                numpy.ones(2**33, dtype=numpy.uint8)
        """,
    "class_skips": """
        class TestIt(TestCase):
            @classmethod
            def setUpClass(cls):
                raise unittest.SkipTest("not here")

            def test_a(self):
                pass
        """,
    "pools": """
        class Pair:
            def __init__(self, number):
                self.number = number

        class TestIt(TestCase):
            def test_a(self):
                with multiprocessing.Pool(1) as pool:
                    self.assertEqual([pair.number for pair in pool.map_async(Pair, [1, 2]).get(20)], [1, 2])
        """,
    "draws": """
        class TestIt(TestCase):
            def test_a(self):
                with open(os.environ["DRAWN"], "a") as file:
                    file.write(f"{numpy.random.rand()}\\n")
        """,
}
ENDING = "if __name__ == '__main__':\n    run_tests()\n"


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout" / "test" / "test_base_ops"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / f"test_{name}.py").write_text(BEGINNING + textwrap.dedent(text) + ENDING)
    return tmp_path / "checkout"


def start(checkout: Path, *options: str, **environment: str) -> subprocess.Popen:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.client_suites", "op_plugin", str(checkout), "--results", str(checkout / "results"), *options],
        cwd=ROOT,
        env=environment_with(PYTHONPATH=path, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(checkout: Path, *names: str, options: tuple[str, ...] = (), **environment: str) -> tuple[dict[str, Record], str]:
    """Run the files of these names, and return the record of each and what the runner printed."""
    files = [f"test_base_ops/test_{name}.py" for name in names]
    printed, _ = start(checkout, *options, "--files", *files, **environment).communicate(timeout=300)
    records = {name: read_record(checkout / "results" / f"{file}.jsonl") for name, file in zip(names, files, strict=True)}
    assert all(record.finished for record in records.values()), printed
    return records, printed


def outcomes(record: Record) -> dict[str, str]:
    return {test.removeprefix("TestIt.test_"): found.outcome for test, found in record.tests.items()}


@pytest.mark.slow
def test_each_test_has_its_outcome_and_its_cause(checkout):
    names = ("passes", "fails", "crashes", "imports", "allocates", "class_skips", "pools")
    records, printed = run(checkout, *names, options=("--memory", "6"))
    assert outcomes(records["passes"]) == {"add": "passed", "other": "skipped"}
    assert outcomes(records["fails"]) == {"good": "passed", "wrong": "failed", "left_on_the_stream": "failed", "of_parts": "failed"}
    assert outcomes(records["crashes"]) == {"a": "passed", "b": "crashed", "c": "crashed", "d": "passed"}
    assert outcomes(records["imports"]) == {"(file)": "failed"}
    assert outcomes(records["allocates"]) == {"too_much": "failed"}
    assert outcomes(records["class_skips"]) == {"a": "skipped"}
    assert outcomes(records["pools"]) == {"a": "passed"}
    assert [name for name in names if records[name].passed] == ["passes", "pools"]
    for text in (
        "aclnnIndex",
        "process ended: SIGABRT",
        "process ended: exit code",
        "No module named 'no_such_module'",
        "Unable to allocate",
    ):
        assert text in printed


@pytest.mark.exhaustive
def test_what_hangs_is_ended_with_the_tests_behind_it(checkout):
    records, printed = run(checkout, "hangs", options=("--timeout", "25"))
    assert outcomes(records["hangs"]) == {"a": "passed", "b": "timed out", "c": "timed out"}
    assert "2  the file took more than" in printed


@pytest.mark.exhaustive
def test_numpy_draws_the_same_in_each_run(checkout, tmp_path):
    drawn = tmp_path / "drawn"
    for _ in range(2):
        run(checkout, "draws", DRAWN=str(drawn))
    first, second = drawn.read_text().splitlines()
    assert first == second


@pytest.mark.exhaustive
def test_an_interrupted_run_goes_on_where_it_was(checkout, tmp_path):
    files = [f"test_base_ops/test_{name}.py" for name in ("draws", "hangs")]
    options = ("--jobs", "1", "--timeout", "200", "--files", *files)
    first = start(checkout, *options, DRAWN=str(tmp_path / "drawn"))
    record = checkout / "results" / f"{files[1]}.jsonl"
    for _ in range(600):
        if record.exists() and read_record(record).running is not None:
            break
        time.sleep(0.1)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    assert not read_record(record).finished
    (checkout / "test" / files[1]).write_text(BEGINNING + textwrap.dedent(FILES["passes"]) + ENDING)
    printed, _ = start(checkout, "--resume", *options, DRAWN=str(tmp_path / "drawn")).communicate(timeout=300)
    assert read_record(record).passed, printed
    assert len((tmp_path / "drawn").read_text().splitlines()) == 1


def test_a_line_that_was_cut_off_is_not_read(tmp_path):
    path = tmp_path / "record"
    write_line(path, tests=["a", "b"])
    write_line(path, start="a")
    path.write_text(path.read_text() + json.dumps({"end": "a", "outcome": "passed", "message": ""})[:20])
    record = read_record(path)
    assert (record.listed, record.running, record.tests, record.finished) == (["a", "b"], "a", {}, False)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Traceback\nRuntimeError: aclnnFoo: self: expected [2, 3], got [4, 5] at 0x7f1",
            "aclnnFoo: self: expected [N...], got [N...] at ADDRESS",
        ),
        ("aclopCompileAndExecute: operator Identity has no entry point in the engine", "operator Identity has no entry point"),
        ("Traceback\nValueError: 3.5e-2 is more than 7\n\n", "ValueError: N is more than N"),
        ("log\nprocess ended: SIGSEGV", "process ended: SIGSEGV"),
        ("", "no message"),
    ],
)
def test_causes_that_differ_in_numbers_are_one(message, expected):
    assert cause(message) == expected


def made_up(outcome: str, message: str = "") -> Record:
    return Record({"TestIt.test_a": Outcome(outcome, message)}, finished=True)


def test_the_list_grows_and_never_shrinks(tmp_path):
    (tmp_path / "passed.txt").write_text("a/b: one\n")
    lists = Lists(tmp_path)
    outcomes = {"a/b/test_one": ("failed", "ValueError: no"), "test_two": ("passed",), "test_three": ("failed", "KeyError: no")}
    records = {f"{name}.py": made_up(*outcome) for name, outcome in outcomes.items()}
    of_one = ["a/b/test_one.py: TestIt.test_a", "a/b/test_one.py: no test passes"]
    assert lists.lost(records) == [*of_one, "test_three.py: TestIt.test_a"]
    lists.update(records)
    assert lists.lost(records) == of_one
    lists.write()
    assert (tmp_path / "passed.txt").read_text() == "a/b: one .: two\n" and Lists(tmp_path).passed == lists.passed
    assert Lists(tmp_path).causes == {("test_three.py", "TestIt.test_a"): ("failed", "KeyError: no")}


def test_a_reason_stays_with_its_test(tmp_path):
    lists, first, second = Lists(tmp_path), ("a file.py", "TestIt.test_a"), ("two.py", "TestIt.test_a")
    lists.update({"a file.py": made_up("failed", "KeyError: no"), "two.py": made_up("failed", "KeyError: no")})
    lists.write()
    assert (tmp_path / "causes.tsv").read_text().splitlines()[1:] == [
        "failed\tKeyError: no\ta%20file.py:TestIt.test_a two.py:TestIt.test_a"
    ]
    lists.causes[first] = ("failed", "compares with a wrong expectation")
    lists.write()
    again = Lists(tmp_path)
    again.update({"a file.py": made_up("timed out", "the file took more than 3 s")})
    assert again.causes == {first: ("timed out", "compares with a wrong expectation"), second: ("failed", "KeyError: no")}
    again.update({"a file.py": made_up("passed")})
    assert list(again.causes) == [second]


def test_a_word_leaves_out_the_file_and_the_class_of_the_one_before(tmp_path):
    lists, tests = Lists(tmp_path), ("a file.py:One.a", "a file.py:One.b", "a file.py:Two.b", "b.py:(file)", "b.py:Two.b")
    lists.causes = {tuple(test.split(":")): ("failed", "no") for test in tests}
    lists.write()
    assert (tmp_path / "causes.tsv").read_text().endswith("\ta%20file.py:One.a .b :Two.b b.py:(file) :Two.b\n")
    assert Lists(tmp_path).causes == lists.causes


def test_the_figures_count_files_and_tests(tmp_path):
    records = {"one.py": made_up("passed"), "two.py": made_up("crashed"), "three.py": made_up("skipped"), "four.py": made_up("skipped")}
    records["two.py"].tests["TestIt.test_b"] = Outcome("passed")
    found = figures(records)
    assert (found["files"], found["files that pass"], found["files of which each test is skipped"]) == (4, 1, 2)
    assert (found["tests"], found["tests passed"], found["tests crashed"], found["tests skipped"]) == (5, 2, 1, 2)
    Lists(tmp_path).write_figures(records)
    assert "tests crashed\t1\n" in (tmp_path / "figures.tsv").read_text()
