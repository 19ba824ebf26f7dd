"""Programs that find the module, which the import hook does only while the engine answers."""

import sys
from importlib.machinery import ModuleSpec

import pytest
from torch_aclnn.loading import import_hook
from torch_aclnn.loading.paths import python_packages
from torch_aclnn_import_hook import Finder

from support.subprocesses import output_of


class Found:
    """Finds the module at a place, or in a folder without a file of its own."""

    def __init__(self, origin: str | None) -> None:
        self.spec = ModuleSpec("acl", None, origin=origin)

    def find_spec(self, *_: object) -> ModuleSpec:
        return self.spec


@pytest.mark.parametrize(
    ("origin", "answers", "engines"),
    [
        ("/cann/python/site-packages/acl.so", True, True),
        ("/cann/python/site-packages/acl.so", False, False),
        ("/home/me/acl.py", True, False),
        ("/home/me/acl.py", False, False),
        (None, True, True),
        (None, False, False),
    ],
)
def test_the_hook_finds_it_only_while_the_engine_answers(monkeypatch, origin, answers, engines):
    """The module never replaces a program's own, or CANN's where CANN answers."""
    other = Found(origin)
    monkeypatch.setattr(import_hook, "is_active", lambda: answers)
    monkeypatch.setattr(sys, "meta_path", [Finder, other])
    spec = Finder.find_spec("acl")
    assert spec is not None and (spec.origin == str(python_packages() / "acl" / "__init__.py")) is engines
    assert engines or spec is other.spec


def test_a_program_without_torch_finds_it():
    """What Ray, MindSpeed and vllm-ascend ask for, in a process that has nothing of the engine in its environment."""
    code = """
        import sys, acl
        from acl.rt import memcpy
        count, ret = acl.rt.get_device_count()
        assert acl.rt.set_device(0) == 0
        free, total, _ = acl.rt.get_mem_info(1)
        print(count, ret, acl.get_soc_name(), 0 < free <= total, callable(memcpy), {"torch", "numpy"} & set(sys.modules))
    """
    assert output_of(code, TORCH_ACLNN_HOST_DEVICES="3", TORCH_ACLNN_HOST_SOC="Ascend910B3") == "3 0 Ascend910B3 True True set()"


def test_a_file_of_the_working_directory_is_not_run(tmp_path):
    (tmp_path / "torch_aclnn_command.py").write_text("raise SystemExit('the wrong one')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import acl; print(acl.rt.get_device_count())"
    assert output_of(code, TORCH_ACLNN_HOST_DEVICES="2") == "(2, 0)"


@pytest.mark.parametrize(
    "path",
    [pytest.param('eval "$(torch-aclnn env)"', id="env"), pytest.param(f". '{python_packages().parents[1]}/set_env.sh'", id="set_env.sh")],
)
def test_a_shell_makes_it_importable_without_the_hook(path):
    launcher = ("bash", "-c", f'export PATH="{sys.prefix}/bin:$PATH"; {path} && exec {sys.executable} -c "$0"')
    code = "import acl; print(acl.rt.get_device_count())"
    assert output_of(code, launcher=launcher, TORCH_ACLNN_IMPORT_HOOK="0", TORCH_ACLNN_HOST_DEVICES="2") == "(2, 0)"
