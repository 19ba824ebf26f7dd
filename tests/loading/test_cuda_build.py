"""Loading torch_npu beside torch's CUDA build: a library stands for it that registers allocator options as libc10_cuda does."""

import signal
from pathlib import Path

import pytest
import torch
from torch.utils.cpp_extension import include_paths, library_paths

from support.compiler import shared_library
from support.new_processes import output_of, run_python

pytestmark = pytest.mark.skipif(torch.version.cuda is not None, reason="torch is the CUDA build, so that every other test is this one")

SOURCE = """
#include <c10/core/AllocatorConfig.h>

using c10::CachingAllocator::AcceleratorAllocatorConfig;

// One name that torch_npu registers too, and one that it does not.
static c10::CachingAllocator::DeviceConfigParserHookRegistry registry(
    [](const std::string&) {}, {"pinned_reserve_segment_size_mb", "release_lock_on_cudamalloc"});

extern "C" __attribute__((visibility("default"))) int has_key(const char* key) {
    return AcceleratorAllocatorConfig::getKeys().count(key) == 1;
}
"""
BESIDE = """
import os; os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import ctypes, torch
library = ctypes.CDLL({library!r})
torch_version = {{"__version__": torch.__version__.split("+")[0] + "+cu130", "cuda": {cuda!r}}}
from torch_aclnn_command import bare_package
with bare_package(): from torch_aclnn.loading import versions
installed = versions.installed
versions.installed = lambda package: torch_version if package == "torch" else installed(package)
import torch_npu
keys = ("pinned_reserve_segment_size_mb", "release_lock_on_cudamalloc", "release_lock_on_npumalloc", "max_split_size_mb", "other")
print([library.has_key(key.encode()) == 1 for key in keys], (torch.ones(2).npu() + 1).tolist())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library that registers what torch's CUDA build has registered by the time torch_npu is loaded."""
    directory = tmp_path_factory.mktemp("allocator")
    source = directory / "options.cpp"
    source.write_text(SOURCE)
    headers = [f"-I{path}" for path in include_paths()]
    return shared_library(source, directory / "liboptions.so", ["-std=c++20", *headers], [f"-L{library_paths()[0]}", "-lc10"])


def test_torch_npu_aborts_if_nothing_is_done(library):
    done = run_python(BESIDE.format(library=str(library), cuda=None))
    assert done.returncode == -signal.SIGABRT and "Duplicated key 'pinned_reserve_segment_size_mb'" in done.stderr


def test_it_loads_and_torch_knows_the_options_of_both(library):
    assert output_of(BESIDE.format(library=str(library), cuda="13.0")) == "[True, True, True, True, False] [2.0, 2.0]"


def test_options_in_the_environment_are_read_as_ever(library):
    beside = BESIDE.format(library=str(library), cuda="13.0")
    assert output_of(beside, PYTORCH_ALLOC_CONF="max_split_size_mb:64").endswith("[2.0, 2.0]")
    done = run_python(beside, PYTORCH_ALLOC_CONF="other:1")
    assert done.returncode == 1 and "key 'other'" in done.stderr
