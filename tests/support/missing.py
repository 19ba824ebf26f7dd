"""A program without one of the engine's entry points, so that what is said of a missing one can be tested as the engine grows."""

from pathlib import Path

from support.compiler import shared_library


def environment_without(entry_point: str, directory: Path) -> dict[str, str]:
    """Return what a program's environment needs for its ``dlsym()`` not to find either phase of the entry point."""
    library = shared_library(Path(__file__).with_name("missing.cpp"), directory / "libmissing.so", ["-std=c++17", "-O2"], ["-ldl"])
    return {"LD_PRELOAD": str(library), "MISSING_ENTRY_POINT": entry_point}
