"""The option that adds to the lists of what passes, and the list of this process's engine."""

from collections.abc import Iterator

import pytest
import torch

from opinfo.entries import ENGINE
from opinfo.passed_list import MINOR, PATH, UPDATE, PassedList


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(UPDATE, action="store_true", help="add to tests/opinfo/passed.tsv what passes and is not listed")


@pytest.fixture(scope="session")
def passed_list(pytestconfig: pytest.Config) -> Iterator[PassedList]:
    # The option is unknown when this file was not among the first that pytest loads.
    update = pytestconfig.getoption(UPDATE, default=False)
    listed = PassedList(PATH, ENGINE, update, MINOR)
    yield listed
    if update:
        listed.write()


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    # The samples are so small that starting threads is most of the time.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
