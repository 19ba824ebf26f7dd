"""Say what the build of the package costs, in units that do not depend on the processor's speed.

python -m benchmarks.build

A unit is the processor time of compiling one function, x + 1, in a file that includes <ATen/ATen.h>: the median of three. The build is the
last one from nothing in the folder build/, whose processor time setup.py has written down.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from torch.utils.cpp_extension import include_paths

ROOT = Path(__file__).parents[1]
ONE_FUNCTION = "#include <ATen/ATen.h>\nat::Tensor one_more(const at::Tensor& x) {\n    return x + 1;\n}\n"


def processor_seconds(command: list[str]) -> float:
    """Return the processor time of a command and the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def unit_seconds() -> float:
    """Return the processor time of a unit, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "one_more.cpp")
        source.write_text(ONE_FUNCTION)
        compiler = os.environ.get("CXX", "g++")
        command = [compiler, "-std=c++20", "-O2", "-fPIC", "-c", str(source), "-o", str(source.with_suffix(".o"))]
        command += [f"-isystem{path}" for path in include_paths()]
        return statistics.median(processor_seconds(command) for _ in range(3))


def main() -> None:
    """Print the processor time of the last build from nothing, and how many units it is."""
    builds = sorted(ROOT.glob("build/*/processor_seconds"), key=lambda path: path.stat().st_mtime)
    if not builds:
        sys.exit("no folder of build/ has a processor_seconds file: build from nothing first (rm -rf build, then install the package)")
    seconds, unit = float(builds[-1].read_text()), unit_seconds()
    print(f"build: {seconds / unit:.1f} units ({seconds:.0f} s of processor time, {unit:.1f} s a unit)")


if __name__ == "__main__":
    main()
