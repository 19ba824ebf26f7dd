"""What makes the build and the tests slow has limits, by count: times differ between machines.

Whoever needs more raises a limit here, and says why in the commit.
"""

import re
from pathlib import Path

from support.refusals import ROWS

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
# The folders of the targets with precompiled headers, and of the one unit on torch that has none.
PRECOMPILED = {"engine/aten": "aclnn_math", "engine/collectives": "torch_aclnn_collectives", "extension": "extension"}
WITHOUT = {"loading/allocator_keys.cpp"}
TESTS_OF_THE_DEFAULT_RUN = 8_290
# This number only falls: a refusal of something that the extension needs is a fault of the extension.
REFUSALS_THAT_SKIP_A_TEST = 7


def sources_on_torch():
    on_torch = re.compile(r"#include <(ATen|c10|torch)/")
    paths = (path for path in SOURCES.rglob("*.cpp") if on_torch.search(path.read_text()))
    return sorted(path.relative_to(SOURCES).as_posix() for path in paths)


def test_each_source_on_torch_is_of_a_target_with_precompiled_headers():
    assert [source for source in sources_on_torch() if not source.startswith(tuple(PRECOMPILED))] == sorted(WITHOUT)
    build = (SOURCES / "CMakeLists.txt").read_text()
    for target in PRECOMPILED.values():
        assert f"target_precompile_headers({target} " in build


def test_few_sources_are_compiled_one_by_one():
    """All others are joined; what is generated for each instruction set cannot be."""
    build = (SOURCES / "CMakeLists.txt").read_text()
    assert "set(CMAKE_UNITY_BUILD ON)" in build
    assert len(re.findall(r"UNITY_BUILD OFF|SKIP_UNITY_BUILD_INCLUSION ON", build)) <= 3
    assert len(list((SOURCES / "kernels").rglob("vector.cpp"))) <= 9
    assert len(list((SOURCES / "engine" / "opapi").glob("*_backward.cpp"))) <= 8


def test_the_default_run_stays_short(request):
    taken = [item for item in request.session.items if not item.get_closest_marker("full")]
    assert len(taken) <= TESTS_OF_THE_DEFAULT_RUN


def test_the_modes_skip_ever_fewer_tests():
    assert len(ROWS) == REFUSALS_THAT_SKIP_A_TEST and all(all(row.values()) for row in ROWS)
