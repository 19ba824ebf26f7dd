"""What suggests that CANN is meant to answer, and what follows from it. Nothing here imports torch, so that each process is short."""

import ctypes

import pytest
from torch_aclnn.loading import cann, links
from torch_aclnn.loading.paths import libdir

from support.new_processes import COMMAND, output_of, run_python

BARE_PACKAGE = "from torch_aclnn_command import bare_package\nwith bare_package(): from torch_aclnn.loading import cann, engine\n"


def without_cann(**settings: str) -> dict[str, str]:
    """Return settings under which nothing of the environment suggests CANN."""
    return dict.fromkeys(cann.SEARCH_VARIABLES, "") | settings


@pytest.mark.parametrize(
    "path",
    [
        "dev/davinci0",
        "dev/davinci_manager",
        "dev/devmm_svm",
        "dev/hisi_hdc",
        "usr/local/Ascend/driver",
        "usr/local/Ascend/ascend-toolkit",
        "usr/local/Ascend/cann-9.0.0",
        "home/Ascend/ascend-toolkit",
    ],
)
def test_devices_drivers_and_toolkits_suggest_cann(tmp_path, path):
    environment = {"HOME": str(tmp_path / "home")}
    assert cann.evidence(tmp_path, environment) == []
    (tmp_path / path).mkdir(parents=True)
    assert cann.evidence(tmp_path, environment) == [str(tmp_path / path)]


@pytest.mark.parametrize("name", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"])
def test_a_sourced_environment_suggests_cann(tmp_path, name):
    assert cann.evidence(tmp_path, {name: "/opt/cann"}) == [f"{name}=/opt/cann"]
    assert cann.evidence(tmp_path, {name: ""}) == []


def test_the_toolkit_of_the_engine_does_not(tmp_path):
    assert cann.evidence(tmp_path, cann.TOOLKIT_VARIABLES) == []


def test_libraries_that_the_loader_would_find_suggest_cann(tmp_path):
    library = tmp_path / "lib64" / "libascendcl.so"
    environment = {"LD_LIBRARY_PATH": f"{libdir()}::{library.parent}"}
    assert cann.evidence(tmp_path, environment) == []
    library.parent.mkdir()
    library.touch()
    assert cann.evidence(tmp_path, environment) == [str(library)]
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "ld.so.cache").write_bytes(b"libacl.so\0/opt/libascendcl.so\0")
    assert cann.evidence(tmp_path, {}) == [f"libascendcl.so in {tmp_path}/etc/ld.so.cache"]


ANSWERS = "import torch_aclnn; print(torch_aclnn.host.is_active())"


def test_links_put_the_engine_where_programs_look_for_cann(tmp_path):
    """The home folder counts as /usr/local/Ascend does."""
    installation, toolkit = tmp_path / "Ascend", tmp_path / "Ascend" / "ascend-toolkit" / "latest"

    def run(*arguments: str) -> str:
        return output_of("", launcher=(COMMAND, *arguments, str(installation)))

    linked = run("link").split()
    assert str(toolkit) in linked
    assert (toolkit / "include" / "acl" / "acl.h").exists()
    ctypes.CDLL(str(installation / "driver" / "lib64" / "driver" / "libascend_hal.so"))
    sourced = without_cann(HOME=str(tmp_path), ASCEND_HOME_PATH=str(toolkit), LD_LIBRARY_PATH=str(toolkit / "lib64"))
    assert output_of(ANSWERS, **sourced) == "True"
    assert run("link", "--remove").split() == linked
    assert not installation.exists()
    assert output_of(ANSWERS, **without_cann(HOME=str(tmp_path))) == "True"


def test_links_leave_an_installed_cann_alone(tmp_path):
    (tmp_path / "cann-8.5.0").mkdir()
    (tmp_path / "cann").symlink_to("cann-8.5.0")
    with pytest.raises(FileExistsError, match="cann is there already"):
        links.add(tmp_path)
    assert links.remove(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cann", "cann-8.5.0"]


def test_the_engine_on_the_path_of_the_loader_counts_if_it_comes_first(tmp_path):
    (tmp_path / "libascendcl.so").touch()
    assert cann.engine_comes_first({"LD_LIBRARY_PATH": f"/nowhere:{libdir()}:{tmp_path}"})
    assert not cann.engine_comes_first({"LD_LIBRARY_PATH": f"{tmp_path}:{libdir()}"})
    assert not cann.engine_comes_first({})


def test_no_process_is_started_where_nothing_suggests_cann():
    code = "cann.evidence = lambda: []\ndel cann.subprocess\nengine.activate()\nprint(engine.is_active())"
    assert output_of(BARE_PACKAGE + code, **without_cann()) == "True"


def test_a_machine_that_seems_to_have_an_npu_is_not_left_to_the_host_engine():
    done = run_python(BARE_PACKAGE + "engine.activate()", **without_cann(ASCEND_HOME_PATH="/nowhere/cann"))
    last = done.stderr.splitlines()[-1]
    assert "an NPU seems to be meant here (ASCEND_HOME_PATH=/nowhere/cann), but CANN's libraries do not load: libascendcl.so: " in last
    assert "set_env.sh" in last and "TORCH_ACLNN_ENGINE=host" in last


def test_the_host_engine_can_be_chosen_there():
    code = "engine.activate(); import os; print(engine.is_active(), {k: os.environ[k] for k in cann.SEARCH_VARIABLES if k in os.environ})"
    settings = without_cann(ASCEND_HOME_PATH="/nowhere/cann", ASCEND_CUSTOM_OPP_PATH="/nowhere/custom", TORCH_ACLNN_ENGINE="host")
    assert output_of(BARE_PACKAGE + code, **settings) == f"True {cann.TOOLKIT_VARIABLES}"


def test_torch_is_imported_there_with_the_host_engine():
    code = "import torch_aclnn, torch; print(torch.npu.is_available())"
    assert output_of(code, ASCEND_HOME_PATH="/nowhere/cann", TORCH_ACLNN_ENGINE="host") == "True"


def test_a_program_under_the_run_command_has_the_host_engine_there():
    code = BARE_PACKAGE + "engine.activate(); print(engine.is_active())"
    assert output_of(code, launcher=(COMMAND, "run", "-c"), **without_cann(ASCEND_HOME_PATH="/nowhere/cann")) == "True"


def test_the_env_command_replaces_what_torch_npu_would_search():
    names = " ".join(f'"${name}"' for name in cann.SEARCH_VARIABLES)
    shell = ("bash", "-c", f'eval "$({COMMAND} env)"; printf "%s\\n" {names}')
    settings = dict.fromkeys(cann.SEARCH_VARIABLES, "/nowhere")
    expected = [cann.TOOLKIT_VARIABLES.get(name, "") for name in cann.SEARCH_VARIABLES]
    assert run_python("", launcher=shell, **settings).stdout.splitlines() == expected


def test_an_empty_choice_counts_as_none():
    assert output_of(BARE_PACKAGE + "print(engine.chosen())", TORCH_ACLNN_ENGINE="") == "auto"


def test_cann_cannot_be_had_with_the_engine_on_the_path_of_the_loader():
    done = run_python(BARE_PACKAGE + "engine.activate()", TORCH_ACLNN_ENGINE="cann", LD_LIBRARY_PATH=str(libdir()))
    assert f"TORCH_ACLNN_ENGINE=cann, but CANN's libraries do not load: LD_LIBRARY_PATH has {libdir()} first" in done.stderr


def test_every_name_that_torch_npu_asks_the_loader_for_is_the_engines():
    code = "engine.activate(); print([name for name in engine.OPERATOR_LIBRARIES if not engine.loaded_library(name)])"
    assert output_of(BARE_PACKAGE + code, TORCH_ACLNN_ENGINE="host") == "['libaclnn_math.so']"  # this library waits for torch


@pytest.mark.parametrize("name", ["ops_infer", "ops_train", "sparse", "fft", "rand"])
def test_a_library_without_entry_points_offers_none(name):
    # Through one that has some, torch_npu would find them where CANN has them not.
    library = ctypes.CDLL(str(libdir() / f"libaclnn_{name}.so"))
    assert not hasattr(library, "aclnnAvgPool2dBackward") and not hasattr(library, "aclnnExp")
