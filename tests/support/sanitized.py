"""Compiling C++ programs for the engine, and the engine itself with sanitizers: what needs no torch of it."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "ASAN_OPTIONS": "halt_on_error=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT / 'tests' / 'sanitizers' / 'thread.supp'}",
}


def tool(name: str) -> str:
    """Return a program's path; skip the test where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on the path")
    return found


def sanitized_engine(sanitizers: str) -> Path:
    """Build the engine with `sanitizers`, as -fsanitize= takes them, and return the folder of its libraries; the next session has them."""
    build = ROOT / "build" / f"sanitize-{sanitizers.replace(',', '-')}"
    options = [f"-DTORCH_ACLNN_SANITIZE={sanitizers}", f"-DTORCH_ACLNN_TOOLKIT_DIR={build / 'toolkit'}"]
    configure = [tool("cmake"), "-S", ROOT / "csrc", "-B", build, "-G", "Ninja", *options]
    for command in (configure, [tool("cmake"), "--build", build, "--target", "opapi"]):
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return build / "toolkit" / "lib64"


def program(sources: list[Path], target: Path, libraries: Path, *options: str, link: Sequence[str] = ("opapi", "ascendcl")) -> Path:
    """Compile C++ sources, each on its own, and link them with some of the engine's libraries in a folder."""
    compiler = tool("g++")
    flags = ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *options, f"-I{libraries.parent / 'include'}"]
    objects = [target.with_name(f"{target.name}-{source.stem}.o") for source in sources]

    def compile_one(source: Path, output: Path) -> None:
        subprocess.run([compiler, *flags, "-c", str(source), "-o", str(output)], check=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources, objects))
    search = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", f"-Wl,-rpath-link,{libraries}"]
    names = [f"-l{name}" for name in link]
    subprocess.run([compiler, *options, *map(str, objects), "-o", str(target), *search, *names, "-pthread"], check=True)
    return target


def run(*command: object, timeout: float = 300, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program with no settings of the engine but these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_") and name != "LD_LIBRARY_PATH"}
    # OpenMP's threads are not known to ThreadSanitizer.
    environment = kept | SETTINGS | {"TORCH_ACLNN_HOST_THREADS": "1"} | settings
    return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, timeout=timeout, check=False)
