"""Each operator of the table has its public names and its page, and the documents link to files that exist."""

import re
import sys
from pathlib import Path

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS, Operator

from support.tiers import named_tests

ROOT = Path(__file__).parents[2]
HEADERS = Path(torch_aclnn.__file__).parent / "toolkit" / "include"
PAGES = ROOT / "docs" / "operators"
PAGES_OF_SITE = [page for page in (ROOT / "docs").rglob("*.md") if "<!-- page: " not in page.read_text() or page.stem == "index"]
DOCUMENTS = [*ROOT.glob("*.md"), *PAGES_OF_SITE, *(ROOT / "benchmarks").glob("*.md")]
of_each_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)


def page_of(operator: Operator) -> str:
    return (PAGES / f"{operator.family}.md").read_text()


def test_each_family_has_a_page_and_each_page_a_family():
    assert {page.stem for page in PAGES.iterdir()} - {"README"} == {operator.family for operator in OPERATORS}


@of_each_operator
def test_each_operator_has_its_public_names(operator: Operator):
    for name in operator.functions:
        function = getattr(torch_aclnn.functional, name)
        assert name in torch_aclnn.functional.__all__ and function.__module__ == "torch_aclnn.functional"
    for name in operator.modules:
        # DistributedDataParallel refuses torch's SyncBatchNorm on cpu, so ours is its sibling.
        base = torch.nn.modules.batchnorm._BatchNorm if name == "SyncBatchNorm" else getattr(torch.nn, name)
        module = getattr(torch_aclnn.nn, name)
        assert name in torch_aclnn.nn.__all__ and issubclass(module, base) and module.__module__ == "torch_aclnn.nn"
    if operator.dims:
        for name in (operator.forward_class, f"{operator.forward_class}Backward"):
            assert name in torch_aclnn.autograd.__all__ and issubclass(getattr(torch_aclnn.autograd, name), torch.autograd.Function)
    assert {"default", "out"} <= set(getattr(torch.ops.torch_aclnn, operator.backward).overloads())
    assert hasattr(torch.nn.functional, operator.torch_function)
    assert operator.aten_backward is None or hasattr(torch.ops.aten, operator.aten_backward)


def test_no_public_name_is_without_a_row():
    def public(package: str) -> set[str]:
        modules = (module for name, module in sys.modules.items() if re.fullmatch(rf"torch_aclnn\.{package}\.\w+", name))
        return {name for module in modules for name in getattr(module, "__all__", ())}

    assert public("functional") == {name for operator in OPERATORS for name in operator.functions}
    assert public("nn") == {name for operator in OPERATORS for name in operator.modules}


@of_each_operator
def test_each_operators_page_has_its_names_and_its_schema(operator: Operator):
    page = page_of(operator)
    parameters = [argument.name for argument in getattr(torch.ops.torch_aclnn, operator.backward).default._schema.arguments]
    # Operators of one schema are shown by one of them.
    schemas = re.findall(r"`torch\.ops\.torch_aclnn\.\w+_backward\((.*?)\)`", page)
    assert parameters in [[re.sub(r"=.*", "", parameter) for parameter in schema.split(", ")] for schema in schemas]
    names = [*(f"functional.{name}" for name in operator.functions), *(f"nn.{name}" for name in operator.modules)]
    assert [name for name in names if f"`torch_aclnn.{name}" not in page] == []
    assert f"`{operator.entry_point}`" in page and f"`torch.nn.functional.{operator.torch_function}`" in page


def prototypes(text: str, entry_point: str) -> list[str]:
    """Return the parameters of the functions whose name the pattern matches, as the text has them, in one line each."""
    found = re.findall(rf"aclnnStatus {entry_point}(\([^)]*\);)", text)
    return [re.sub(r"\s+", " ", prototype).replace("( ", "(") for prototype in found]


@of_each_operator
def test_each_operators_page_has_the_prototypes_of_the_header(operator: Operator):
    page = page_of(operator)
    headers = [(HEADERS / name).read_text() for name in re.findall(r"aclnnop/\w+\.h", page)]
    (header,) = {text for text in headers if f" {operator.entry_point}(" in text}
    # Entry points with the same parameters are shown by one of them.
    assert prototypes(header, f"{operator.entry_point}GetWorkspaceSize")[0] in prototypes(page, r"\w+GetWorkspaceSize")
    (common,) = prototypes((PAGES / "README.md").read_text(), "aclnnX")
    assert prototypes(header, operator.entry_point)[0].replace("const aclrtStream", "aclrtStream") == common


def explained_parameters(text: str) -> list[str]:
    table = re.search(r"\| parameter \|.*?\n\n", text + "\n", re.DOTALL)
    return re.findall(r"`(\w+)`(?=.*\| (?:in|out) \|)", table[0]) if table else []


@pytest.mark.parametrize("family", sorted({operator.family for operator in OPERATORS}))
def test_each_page_explains_the_parameters_of_phase_1(family: str):
    page = (PAGES / f"{family}.md").read_text()
    parameters = {name for prototype in prototypes(page, r"\w+GetWorkspaceSize") for name in re.findall(r"(\w+)[,)]", prototype)}
    explained, common = (set(explained_parameters(text)) for text in (page, (PAGES / "README.md").read_text()))
    assert explained <= parameters <= explained | common


def test_each_page_of_the_site_is_in_its_table_of_contents():
    contents = re.findall(r"```{toctree}(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.DOTALL)
    listed = {re.sub(r".*<(.*)>", r"\1", line) for line in "".join(contents).split("\n")}
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in DOCUMENTS if page.is_relative_to(ROOT / "docs")}
    assert {page for page in pages if not page.startswith("operators/")} - listed == {"index"}


def test_a_paragraph_of_a_page_is_one_line():
    prose = r"(?![ `|<#-]|\d+\.).+"
    texts = {page: re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL) for page in PAGES_OF_SITE}
    assert [(page.name, found) for page, text in texts.items() for found in re.findall(rf"^{prose}\n{prose}$", text, re.MULTILINE)] == []


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/architecture.md", "docs/performance.md"])
def test_the_files_that_a_document_names_exist(document: str):
    quoted = re.findall(r"`((?:csrc|torch_aclnn|tests|benchmarks|docs|examples|\.ci)/[\w./-]*)`", (ROOT / document).read_text())
    assert quoted and [path for path in quoted if "foo" not in path and not (ROOT / path).exists()] == []


def test_the_page_of_performance_has_each_strategy_in_the_order_in_which_they_are_tried():
    folder = ROOT / "csrc" / "kernels" / "separable"
    tried = re.findall(r'^    \{"(\w+)", can_', (folder / "choose.cpp").read_text(), re.MULTILINE)
    rows = re.findall(r"^\| `(\w+)` \|.*\| `(\w+\.cpp)` \|$", (ROOT / "docs" / "performance.md").read_text(), re.MULTILINE)
    assert tried and [name for name, _ in rows] == tried
    assert [file for name, file in rows if f"bool can_{name}(" not in (folder / file).read_text()] == []


def test_the_links_between_documents_lead_somewhere():
    links = [(document, link) for document in DOCUMENTS for link in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())]
    assert links and [link for document, link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("page", ["reliability.md", "evidence.tsv"])
def test_the_tests_that_a_page_names_exist(page: str):
    named = named_tests(page)
    assert sum(map(len, named.values())) > 10
    for file, functions in named.items():
        assert functions <= set(re.findall(r"^def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE)), file
