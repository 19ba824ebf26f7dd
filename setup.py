"""Builds the host engine and the extension torch_aclnn._C (csrc/CMakeLists.txt) and copies them into the package."""

import csv
import hashlib
import importlib.util
import itertools
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from types import ModuleType

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "csrc"
TABLE_OF_RELEASES = ROOT / "docs" / "torch_npu_symbols.tsv"
IMPORT_HOOK = ROOT / "torch_aclnn_import_hook.pth"
# The path from the libraries of an installed torch_aclnn to those of torch in the same site-packages.
TORCH_BESIDE_THE_PACKAGE = "$ORIGIN/../../../torch/lib"
DEPENDENCIES = ("torch", "torch_npu")


def read_releases() -> ModuleType:
    """Load the module with the releases of torch_npu that the sources know: the package cannot be imported before it is built."""
    spec = importlib.util.spec_from_file_location("torch_npu_releases", ROOT / "torch_aclnn" / "loading" / "torch_npu_releases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RELEASES = read_releases()
INSTALL = f'pip install "torch_npu=={RELEASES.NEWEST}.*"'


def directory_of(package: str) -> Path:
    """Return where a package is installed, without importing it: without CANN, torch beside torch_npu does not import."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"torch_aclnn needs {package} at build time: {INSTALL}")
    return Path(spec.origin).parent


def check_versions() -> None:
    """End the build with a message if torch or torch_npu is missing, is not known to the sources, or does not fit the other."""
    directory_of("torch")
    torch = release_of("torch")
    if RELEASES.is_too_new(torch):
        raise SystemExit(f"{RELEASES.refusal(torch)}; install that one and its torch: {INSTALL}")
    directory_of("torch_npu")
    found = release_of("torch_npu")
    if RELEASES.numbers(found) < RELEASES.numbers(RELEASES.OLDEST) or RELEASES.is_too_new(found):
        raise SystemExit(f"torch_aclnn builds against torch_npu {RELEASES.OLDEST} to {RELEASES.NEWEST}, got {found}")
    minor = ".".join(found.split(".")[:2])
    if not torch.startswith(f"{minor}."):
        raise SystemExit(f'torch_npu {found} does not load with torch {torch}: pip install "torch=={minor}.*" "torch_npu=={minor}.*"')


def release_of(package: str) -> str:
    """The installed release of a package, without the tag of its build: 2.13.0+cpu is 2.13.0."""
    return metadata.version(package).split("+")[0]


def cann_of(torch_npu: str) -> str:
    """The release of CANN that a release of torch_npu is for, which the engine presents; if none is named, that of the newest before it."""
    with TABLE_OF_RELEASES.open(newline="") as file:
        (_, _, *releases), (_, _, *cann) = itertools.islice(csv.reader(file, dialect="excel-tab"), 2)
    known = releases.index(torch_npu) + 1 if torch_npu in releases else len(releases)
    return [named.strip("()") for named in cann[:known] if named != "-"][-1]


def requirements() -> list[str]:
    """Return what the built package requires: the minor versions that it was compiled against, as the interfaces of others differ."""
    return [f"{package}=={'.'.join(release_of(package).split('.')[:2])}.*" for package in DEPENDENCIES]


def contents_of(package: str) -> str:
    """Return the recorded checksums of a package's headers and libraries, which differ between builds of the package."""
    rows = metadata.files(package) or ()
    recorded = sorted(f"{row} {row.hash and row.hash.value}" for row in rows if row.parts[:2] in ((package, "include"), (package, "lib")))
    return "\n".join(recorded) or f"{metadata.version(package)} {directory_of(package)}"


def build_directory() -> Path:
    """The directory of what is built for this Python against the installed packages; each combination has one of its own.

    It has links to the packages. So a path of a header means the same contents for ever, wherever pip has put them this time, and what was
    compiled in one isolated environment is up to date in the next.
    """
    digest = hashlib.sha256("\n".join(map(contents_of, DEPENDENCIES)).encode()).hexdigest()[:12]
    directory = ROOT / "build" / f"{sys.implementation.cache_tag}-torch_npu{release_of('torch_npu')}-{digest}"
    directory.mkdir(parents=True, exist_ok=True)
    for package in DEPENDENCIES:
        (directory / package).unlink(missing_ok=True)
        (directory / package).symlink_to(directory_of(package))
    return directory


def tool(name: str) -> str:
    """The path of a program of the build."""
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"torch_aclnn needs {name} at build time: pip install {name}")
    return path


def pybind11_definitions() -> list[str]:
    """Return the definitions with which pybind11 shares objects with torch; releases of torch that need none have no values for them."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    values = {name: getattr(torch._C, f"_PYBIND11_{name}", None) for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")}
    return [f'PYBIND11_{name}="{value}"' for name, value in values.items() if value]


def compile_libraries(build: Path, torch_at_run_time: str) -> None:
    """Build the engine and the extension; what has not changed since the last time is not built again."""
    definitions = {
        "CMAKE_MAKE_PROGRAM": tool("ninja"),
        "TORCH_ACLNN_TOOLKIT_DIR": build / "toolkit",
        "PRESENTED_CANN": cann_of(release_of("torch_npu")),
        "TORCH_VERSION": release_of("torch"),
        "TORCH_DIR": build / "torch",
        "TORCH_NPU_DIR": build / "torch_npu",
        "TORCH_RUNTIME_DIR": torch_at_run_time,
        "Python3_EXECUTABLE": sys.executable,
        "PYBIND11_DEFINITIONS": ";".join(pybind11_definitions()),
        "PYTHON_INCLUDE_DIR": sysconfig.get_path("include"),
        "EXTENSION_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
    }
    options = [f"-D{name}={value}" for name, value in definitions.items()]
    is_first = not (build / ".ninja_log").exists()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([tool("cmake"), "-S", SOURCES, "-B", build, "-G", "Ninja", *options], check=True)
    jobs = os.environ.get("MAX_JOBS")
    progress = os.environ | {"NINJA_STATUS": "[%p of the build, %es] "}
    subprocess.run([tool("cmake"), "--build", build, *(["--parallel", jobs] if jobs else [])], check=True, env=progress)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if is_first:  # benchmarks/build.py reads the time of a whole build
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        (build / "processor_seconds").write_text(f"{seconds:.1f}\n")


def replace(source: str, target: str) -> str:
    """Copy a file under a new inode: a process that uses the old file keeps it."""
    Path(target).unlink(missing_ok=True)
    return shutil.copy2(source, target)


def write_built_for(package: Path) -> None:
    """Record what this build is for; the package refuses other versions with a message instead of a linker's error."""
    lines = ['"""The versions that this build was made for; written by setup.py."""', ""]
    lines += [f'TORCH = "{release_of("torch")}"', f'TORCH_NPU = "{release_of("torch_npu")}"', ""]
    (package / "_built_for.py").write_text("\n".join(lines))


class BuildFromNothing(build):
    """Fills the wheel's folder after emptying it of what an earlier build left, for another Python or from a removed module."""

    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildLibraries(build_ext):
    """Builds the libraries and copies them into the package, with what Python reads as it starts."""

    def run(self) -> None:
        package = (ROOT if self.inplace else Path(self.build_lib).absolute()) / "torch_aclnn"
        in_place = self.inplace or self.editable_mode
        build = build_directory()
        compile_libraries(build, str(directory_of("torch") / "lib") if in_place else TORCH_BESIDE_THE_PACKAGE)
        shutil.copytree(build / "toolkit", package / "toolkit", dirs_exist_ok=True, copy_function=replace)
        for extension in build.glob("_C.*.so"):
            replace(str(extension), str(package / extension.name))
        write_built_for(package)
        self.add_import_hook()

    def add_import_hook(self) -> None:
        """Put the .pth file beside the packages of the wheel: an editable one has a folder of its own for what is not in the tree."""
        if self.editable_mode:
            shutil.copy(IMPORT_HOOK, self.get_finalized_command("install").install_lib)
        elif not self.inplace:
            shutil.copy(IMPORT_HOOK, self.build_lib)


check_versions()
# CMake finds the sources itself; the name tells setuptools that the wheel is for one Python.
setup(
    ext_modules=[Extension("torch_aclnn._C", sources=[])],
    install_requires=requirements(),
    cmdclass={"build": BuildFromNothing, "build_ext": BuildLibraries},
)
