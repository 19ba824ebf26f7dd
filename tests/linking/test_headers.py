"""The headers of the toolkit: each compiles alone, and together they declare what the libraries export."""

import re
import shutil
import subprocess

import pytest
from torch_aclnn.host.registry import entry_points
from torch_aclnn.loading.paths import includedir, libdir

COMPILERS = {"c11": ("gcc", ".c"), "c++17": ("g++", ".cpp")}
HEADERS = sorted(path for path in includedir().rglob("*.h"))
FUNCTION = re.compile(r"\b(acl\w+)\(")
PARAMETER_LISTS = re.compile(r"\b(acl\w+)\(([^()]*)\);")


def exported(library: str) -> set[str]:
    symbols = subprocess.run(["nm", "-D", "--defined-only", libdir() / f"lib{library}.so"], check=True, capture_output=True, text=True)
    return {name for name in symbols.stdout.split() if name.startswith("acl")}


def declared(folders: tuple[str, ...]) -> set[str]:
    texts = [re.sub(r"//[^\n]*|^#[^\n]*", "", path.read_text(), flags=re.MULTILINE) for path in HEADERS if path.parent.name in folders]
    return {name for text in texts for name in FUNCTION.findall(text)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("standard", COMPILERS)
def test_each_header_compiles_alone(standard, tmp_path):
    name, suffix = COMPILERS[standard]
    compiler = shutil.which(name)
    if compiler is None:
        pytest.skip(f"no {name} on the path")
    assert len(HEADERS) > 300
    sources = []
    for header in HEADERS:
        sources.append(tmp_path / f"{header.parent.name}_{header.stem}{suffix}")
        sources[-1].write_text(f'#include "{header.relative_to(includedir())}"\n')
    command = [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{includedir()}", *sources]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-4000:]


def test_what_the_runtime_exports_is_declared():
    """What is exported only to be refused has no declaration: a program that calls it does not compile."""
    refused = {entry_point.name for entry_point in entry_points() if entry_point.refused}
    here = {name for name in exported("ascendcl") if name not in refused}
    assert here - declared(("acl",)) == set()
    assert declared(("acl",)) - exported("ascendcl") == set()


def test_what_the_operators_export_is_declared():
    """libopapi also has the functions of libaclnn_math, to which it forwards. What is refused has no prototype."""
    refused = {entry_point.name for entry_point in entry_points() if entry_point.refused and entry_point.name.startswith("aclnn")}
    assert exported("opapi") - refused - {f"{name}GetWorkspaceSize" for name in refused} == declared(("aclnn", "aclnnop"))
    assert exported("aclnn_math") <= exported("opapi")


def test_prototypes_have_the_parameters_of_the_adapters():
    prototypes = dict(PARAMETER_LISTS.findall("\n".join(path.read_text() for path in HEADERS)))
    described = [entry_point for entry_point in entry_points() if entry_point.parameters]
    assert len(described) > 500
    for entry_point in described:
        parameters = [text.split()[-1] for text in prototypes[f"{entry_point.name}GetWorkspaceSize"].split(",")]
        assert parameters == [*(parameter.name for parameter in entry_point.parameters), "workspaceSize", "executor"]


def test_all_headers_compile_together_as_c(tmp_path):
    compiler, source = shutil.which("gcc"), tmp_path / "headers.c"
    if compiler is None:
        pytest.skip("no gcc on the path")
    source.write_text("".join(f'#include "{header.relative_to(includedir())}"\n' for header in HEADERS))
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{includedir()}", source], check=True)
