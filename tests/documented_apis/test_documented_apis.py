"""The comparison with torch_npu's list of APIs, on a page made up here."""

import torch

from documented_apis import table
from documented_apis.pages import FOLDER, read_pages

ROWS = "".join(f"| <term>{name}</term> | {mark} |\n" for name, mark in (("Atlas A2 训练系列产品", "✔"), ("Ascend 950DT", "✔")))
SECTION = "### {0}\n\n**原生文档**:[{0}](https://pytorch.org)\n\n**支持情况**:\n\n" + ROWS + "\n**限制与说明**:\n\n{1}\n"
PAGE = "".join(
    SECTION.format(name, text)
    for name, text in (
        ("Tensor.tanh", "- `self`仅支持fp32,fp64,int8\n- <term>Ascend 950DT</term>:不支持fp64"),
        ("torch.add", "- <term>Atlas A2 训练系列产品</term>:`input`仅支持bf16\n- <term>Ascend 950DT</term>额外支持bool"),
        ("torch.is_tensor", "- 支持Named Tensor"),
    )
)
F32, F64, INT8, BF16, BOOL = torch.float32, torch.float64, torch.int8, torch.bfloat16, torch.bool


def test_the_types_of_each_product(tmp_path):
    folder = tmp_path / FOLDER / f"pytorch_{torch.__version__.split('+')[0].replace('.', '-')}"
    folder.mkdir(parents=True)
    (folder / "torch.md").write_text(PAGE)
    assert {api.name: api.types for api in read_pages(tmp_path)} == {
        "torch.Tensor.tanh": {"A2": {F32, F64, INT8}, "950": {F32, INT8}},
        "torch.add": {"A2": {BF16}, "950": {BOOL}},
    }


def trial(api: str, dtype: str, listed: bool, outcome: str, why: str = "", taken: tuple[str, ...] = ()) -> dict[str, object]:
    return {"api": f"torch.{api}", "type": dtype, "listed": listed, "outcome": outcome, "why": why, "taken": list(taken)}


def test_the_table_has_what_is_not_as_listed(tmp_path):
    refused = "aclnnTanh: self: expected a data type of FLOAT on Ascend910B3, got DOUBLE"
    of_a2 = [
        trial("tanh", "float32", True, "runs"),
        trial("tanh", "float64", True, "refused", refused),
        trial("tanh_", "float64", True, "refused", refused),
        trial("abs", "bool", False, "refused", refused),
        trial("abs", "int8", False, "runs", taken=("aclnnAbs self: 8.5.0 but +INT8: test_abs.py",)),
        trial("abs", "int16", False, "runs", taken=("aclnnAbs self: 8.5.0 but +INT8: test_abs.py",)),
        trial("neg", "int16", False, "runs", taken=("aclnnNeg self: ",)),
        {"api": "torch.nn.Foo", "types": 3},
    ]
    rows = table.rows({"A2": of_a2, "A3": of_a2[:2]})
    assert rows == {
        ("yes", "refused", "A2 A3", "float64", "aclnnTanh: self"): ["tanh"],
        ("yes", "refused", "A2", "float64", "aclnnTanh: self"): ["tanh_"],
        ("no", "runs", "A2", "int8", "aclnnAbs: test_abs.py"): ["abs"],
        ("no", "runs", "A2", "int16", "the entry point's page lists it"): ["abs"],
        ("no", "runs", "A2", "int16", "aclnnNeg: no page was read"): ["neg"],
    }
    table.write(tmp_path / "table.tsv", rows)
    again = table.read(tmp_path / "table.tsv")
    assert again == rows and not list(table.differences(again, rows))
    path = tmp_path / "table.tsv"
    path.write_text(path.read_text().replace("self\t\ttanh\n", "self\ta reason\ttanh\n"))
    table.write(path, rows)
    assert path.read_text().count("a reason") == 2
    del again["yes", "refused", "A2", "float64", "aclnnTanh: self"]
    assert list(table.differences(again, rows)) == ["- A2 tanh_ float64 listed and refused: aclnnTanh: self"]
    (counted,) = table.figures({"A2": of_a2})
    assert (counted["listed: runs"], counted["listed: refused"], counted["not listed: runs"]) == (1, 2, 3)
    assert (counted["APIs"], counted["APIs without samples"]) == (4, 1)
