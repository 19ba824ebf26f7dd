"""Builds the host engine (csrc/CMakeLists.txt) and the extension torch_aclnn._C into the package, and installs the engine's headers."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from glob import glob
from importlib import metadata
from pathlib import Path

# Without CANN an autoloaded torch_npu would make this import fail; torch_npu itself is never imported here.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, include_paths, library_paths

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "csrc"
IMPORT_HOOK = ROOT / "torch_aclnn_import_hook.pth"
# From the libraries of an installed torch_aclnn to those of torch, in the same site-packages.
TORCH_BESIDE_THE_PACKAGE = "$ORIGIN/../../../torch/lib"
# torch_npu's releases that the sources build against, and the newest minor version of it; each asks for a torch of its own.
OLDEST_TORCH_NPU, NEWEST_TORCH_NPU = "2.7.1.post11", "2.14"
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter"]


def torch_npu_directory() -> Path:
    """Where torch_npu is installed, found without importing it."""
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or spec.origin is None:
        raise SystemExit(f"torch_aclnn needs torch_npu at build time: pip install torch_npu=={NEWEST_TORCH_NPU}.*")
    return Path(spec.origin).parent


def numbers(release: str) -> list[int]:
    """The numbers of a release, for comparisons: 2.7.1.post11 is [2, 7, 1, 11]."""
    return [int(number) for number in re.findall(r"\d+", release)]


def check_torch_npu() -> None:
    """End the build with a message if torch_npu is a release that the sources do not know."""
    found = release_of("torch_npu")
    if not numbers(OLDEST_TORCH_NPU) <= numbers(found) or numbers(found)[:2] > numbers(NEWEST_TORCH_NPU):
        raise SystemExit(f"torch_aclnn builds against torch_npu {OLDEST_TORCH_NPU} to {NEWEST_TORCH_NPU}, got {found}")


def release_of(package: str) -> str:
    """The installed release of a package, without the tag of its build: 2.13.0+cpu is 2.13.0."""
    return metadata.version(package).split("+")[0]


def requirements() -> list[str]:
    """What the built package needs: the minor versions that it was compiled against, whose interfaces no other has."""
    return [f"{package}=={'.'.join(release_of(package).split('.')[:2])}.*" for package in ("torch", "torch_npu")]


def tool(name: str) -> str:
    """The path of a program of the build."""
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"torch_aclnn needs {name} at build time: pip install {name}")
    return path


def pybind11_definitions() -> list[str]:
    """What pybind11 must be compiled with to share objects with torch, where its version makes a difference of the compiler."""
    values = {name: getattr(torch._C, f"_PYBIND11_{name}", None) for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")}
    return [f'PYBIND11_{name}="{value}"' for name, value in values.items() if value]


def build_engine(build: Path, toolkit: Path, torch_at_run_time: str) -> None:
    """Build the engine's libraries; what has not changed since the last time is not built again."""
    # For the headers that the engine generates beside them, too.
    shutil.copytree(SOURCES / "include", toolkit / "include", dirs_exist_ok=True)
    definitions = {
        "CMAKE_MAKE_PROGRAM": tool("ninja"),
        "TORCH_ACLNN_TOOLKIT_DIR": toolkit,
        "TORCH_VERSION": release_of("torch"),
        "TORCH_INCLUDE_DIRS": ";".join(include_paths()),
        "TORCH_LIBRARY_DIR": library_paths()[0],
        "TORCH_RUNTIME_DIR": torch_at_run_time,
        "Python3_EXECUTABLE": sys.executable,
        "PYBIND11_DEFINITIONS": ";".join(pybind11_definitions()),
        "PYTHON_INCLUDE_DIR": sysconfig.get_path("include"),
    }
    options = [f"-D{name}={value}" for name, value in definitions.items()]
    subprocess.run([tool("cmake"), "-S", SOURCES, "-B", build, "-G", "Ninja", *options], check=True)
    jobs = os.environ.get("MAX_JOBS")
    subprocess.run([tool("cmake"), "--build", build, *(["--parallel", jobs] if jobs else [])], check=True)


def extension() -> CppExtension:
    """The calling layer, on torch_npu; other projects' headers are system headers, whose warnings are theirs."""
    torch_npu = torch_npu_directory()
    headers = [*include_paths(), str(torch_npu / "include"), str(torch_npu / "include" / "third_party" / "acl" / "inc")]
    options = ["-std=c++20", "-O2", "-g0", "-fvisibility=hidden", "-fopenmp", *WARNINGS]
    return CppExtension(
        "torch_aclnn._C",
        sorted(glob("csrc/extension/**/*.cpp", recursive=True)),
        include_dirs=[str(SOURCES)],
        library_dirs=[str(torch_npu / "lib")],
        libraries=["torch_npu"],
        extra_compile_args=[*options, *(f"-isystem{path}" for path in headers)],
        # What torch_npu itself needs (libascendcl and its companions) is there when the process starts: the engine's, or CANN's.
        extra_link_args=["-l:libtorch_aclnn_kernels.so", "-Wl,-rpath,$ORIGIN/toolkit/lib64", "-Wl,--allow-shlib-undefined"],
    )


def write_built_for(package: Path) -> None:
    """Record what this build is for; the package refuses other versions with a message instead of a linker's error."""
    lines = ['"""The versions that this build was made for; written by setup.py."""', ""]
    lines += [f'TORCH = "{release_of("torch")}"', f'TORCH_NPU = "{release_of("torch_npu")}"', ""]
    (package / "_built_for.py").write_text("\n".join(lines))


class BuildWithEngine(BuildExtension):
    """Builds the engine first, because the extension links its kernels, and adds what Python reads as it starts."""

    def run(self) -> None:
        package = (ROOT if self.inplace else Path(self.build_lib).absolute()) / "torch_aclnn"
        toolkit = package / "toolkit"
        in_place = self.inplace or self.editable_mode
        build_engine(Path(self.build_temp).absolute() / "engine", toolkit, library_paths()[0] if in_place else TORCH_BESIDE_THE_PACKAGE)
        for extension in self.extensions:
            extension.library_dirs.append(str(toolkit / "lib64"))
        super().run()
        write_built_for(package)
        self.add_import_hook()

    def add_import_hook(self) -> None:
        """Put the .pth file beside the packages of the wheel: an editable one has a folder of its own for what is not in the tree."""
        if self.editable_mode:
            shutil.copy(IMPORT_HOOK, self.get_finalized_command("install").install_lib)
        elif not self.inplace:
            shutil.copy(IMPORT_HOOK, self.build_lib)


extensions = [extension()]
check_torch_npu()
setup(ext_modules=extensions, install_requires=requirements(), cmdclass={"build_ext": BuildWithEngine})
