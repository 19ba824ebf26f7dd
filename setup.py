"""Builds the host engine's libraries, installs its headers, and builds the extension torch_aclnn._C."""

import importlib.util
import os
import shutil
from glob import glob
from importlib import metadata
from pathlib import Path

# Without CANN an autoloaded torch_npu would make this import fail; torch_npu itself is never imported here.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch
from setuptools import Extension, setup
from torch.utils.cpp_extension import BuildExtension, include_paths, library_paths

PACKAGE = "torch_aclnn"
ROOT = Path(__file__).resolve().parent
HEADERS = ROOT / "csrc" / "include"

# The last two are off because they fire in inlined code of torch.
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-maybe-uninitialized"]
COMMON = ["-O2", "-g0", "-fvisibility=hidden", "-fopenmp", *WARNINGS]
WITHOUT_TORCH = ["-std=c++17", *COMMON]
WITH_TORCH = ["-std=c++20", *COMMON]
# The same bits for every instruction set: no multiplication is fused with an addition. Lanes are passed between inlined functions only.
KERNELS = [*WITHOUT_TORCH, "-O3", "-ffp-contract=off", "-Wno-psabi"]
# ATen's adapters only prepare calls of code that is compiled already, so their build time matters more than their speed.
ADAPTERS = ["-std=c++20", *COMMON, "-O1"]


def torch_npu_include_paths() -> list[str]:
    """The headers of the installed torch_npu, found without importing it."""
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or spec.origin is None:
        raise SystemExit("torch_aclnn needs torch_npu at build time: pip install torch_npu==2.13.0")
    include = Path(spec.origin).parent / "include"
    return [str(include), str(include / "third_party" / "acl" / "inc")]


def system_includes(paths: list[str]) -> list[str]:
    """Other projects' headers, whose warnings are theirs."""
    return [argument for path in paths for argument in ("-isystem", path)]


def sources(*patterns: str) -> list[str]:
    return sorted(path for pattern in patterns for path in glob(f"csrc/{pattern}"))


def host_library(name: str, files: list[str], needs: tuple[str, ...] = (), *, flags: list[str], torch: bool = False) -> Extension:
    """A plain shared library of the engine, in torch_aclnn/lib, under the SONAME that torch_npu asks for."""
    links = [f"-l:{library}.so" for library in needs] + (["-ltorch_cpu", "-lc10"] if torch else [])
    return Extension(
        f"{PACKAGE}.lib.{name}",
        files,
        include_dirs=[str(ROOT / "csrc"), str(HEADERS)],
        library_dirs=library_paths() if torch else [],
        extra_compile_args=[*flags, *(system_includes(include_paths()) if torch else [])],
        extra_link_args=[f"-Wl,-soname,{name}.so", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-fopenmp", *links],
    )


# Libraries that torch_npu names although all it needs of them is in libascendcl: the first it links, the others it opens to look for
# entry points. Those have none here, but without them the loader would go on to an installed CANN's.
COMPANION = "csrc/engine/runtime/companion.cpp"
COMPANIONS = [
    *("libacl_op_compiler", "libge_runner", "libgraph", "libacl_tdt_channel"),
    *("libaclnn_ops_infer", "libaclnn_ops_train", "libaclnn_sparse", "libaclnn_fft", "libaclnn_rand"),
]

HOST_LIBRARIES = [
    host_library("libascendcl", [path for path in sources("engine/runtime/*.cpp", "engine/runtime/*/*.cpp") if path != COMPANION], flags=WITHOUT_TORCH),
    host_library("libtorch_aclnn_kernels", sources("kernels/*.cpp", "kernels/scalar/*.cpp", "kernels/vector/*.cpp"), flags=KERNELS),
    *(host_library(name, [COMPANION], ("libascendcl",), flags=WITHOUT_TORCH) for name in COMPANIONS),
    host_library("libhccl", sources("engine/hccl/*.cpp"), ("libascendcl",), flags=WITHOUT_TORCH),
    host_library("libopapi", sources("engine/opapi/*.cpp"), ("libtorch_aclnn_kernels", "libascendcl"), flags=WITHOUT_TORCH),
    host_library("libaclnn_math", sources("engine/aten/*.cpp", "engine/aten/*/*.cpp"), ("libopapi", "libascendcl"), flags=ADAPTERS, torch=True),
]

EXTENSION = Extension(
    f"{PACKAGE}._C",
    sources("extension/*.cpp", "extension/aclnn/*.cpp", "extension/ops/*.cpp"),
    include_dirs=[str(ROOT / "csrc")],
    library_dirs=[*library_paths(), str(Path(torch_npu_include_paths()[0]).parent / "lib")],
    libraries=["c10", "torch", "torch_cpu", "torch_python", "torch_npu"],
    extra_compile_args=[*WITH_TORCH, *system_includes([*include_paths(), *torch_npu_include_paths()])],
    # torch_npu's own needs (libascendcl and its companions) are met when the process starts, by the engine or by CANN.
    extra_link_args=["-l:libtorch_aclnn_kernels.so", "-Wl,-rpath,$ORIGIN/lib", "-Wl,--allow-shlib-undefined"],
)


def write_built_for(package: Path) -> None:
    """Record what this build is for; the package refuses other versions with a sentence instead of a linker's error."""
    torch_npu = metadata.version("torch_npu").split("+")[0]
    lines = ['"""The versions that this build was made for; written by setup.py."""', ""]
    lines += [f'TORCH = "{torch.__version__.split("+")[0]}"', f'TORCH_NPU = "{torch_npu}"', ""]
    (package / "_built_for.py").write_text("\n".join(lines))


class BuildWithEngine(BuildExtension):
    """Puts the engine's libraries and headers into the package, where the extension's own suffix does not belong."""

    def get_ext_filename(self, fullname: str) -> str:
        if ".lib." in fullname or fullname.startswith("lib"):
            return str(Path(*fullname.split(".")).with_suffix(".so"))
        return super().get_ext_filename(fullname)

    def build_extensions(self) -> None:
        lib = Path(self.get_ext_fullpath(f"{PACKAGE}.lib.libascendcl")).parent
        for extension in self.extensions:
            extension.library_dirs.append(str(lib))
        super().build_extensions()

    def run(self) -> None:
        package = ROOT / PACKAGE if self.inplace else Path(self.build_lib) / PACKAGE
        (package / "lib").mkdir(parents=True, exist_ok=True)
        super().run()
        shutil.copytree(HEADERS, package / "include", dirs_exist_ok=True)
        write_built_for(package)


setup(ext_modules=[*HOST_LIBRARIES, EXTENSION], cmdclass={"build_ext": BuildWithEngine})
