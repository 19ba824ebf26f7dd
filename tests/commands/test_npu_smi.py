"""The engine's npu-smi, read as programs for NPUs read the tool of Ascend's driver."""

import os
import re
import subprocess

import pytest
from torch_aclnn.command.locations import bindir

from support.subprocesses import COMMAND, output_of, run_python

NPU_SMI = str(bindir() / "npu-smi")


def npu_smi(*arguments: str, **environment: str) -> str:
    """Return the output, whose columns and fields are what matters."""
    return output_of("", launcher=(NPU_SMI, *arguments), **environment)


def fields(text: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines()) if value}


def test_it_can_be_executed():
    assert os.access(NPU_SMI, os.X_OK)


def test_the_table_has_two_rows_for_each_device():
    table = npu_smi("info", TORCH_ACLNN_HOST_DEVICES="2", TORCH_ACLNN_HOST_MEMORY="3G", TORCH_ACLNN_HOST_SOC="Ascend910B1")
    assert len({len(line) for line in table.splitlines()}) == 1
    assert re.findall(r"^\|\s*(\d+)\s+(\w+)\s*\|\s*(\w+)\s*\|", table, re.MULTILINE) == [("0", "910B1", "OK"), ("1", "910B1", "OK")]
    usage = r"\|\s*\d+\s+\|\s+[\w:.]+\s+\|\s+\d+\s+\d+\s*/\s*\d+\s+(\d+)\s*/\s*(\d+)"  # the last pair is the use of HBM
    assert re.findall(usage, table) == [("0", "3072"), ("0", "3072")]
    assert re.findall(r"No running processes found in NPU (\d+)", table) == ["0", "1"]


def test_the_memory_of_a_chip_for_inference_is_ddr():
    environment = {"TORCH_ACLNN_HOST_SOC": "Ascend310P3", "TORCH_ACLNN_HOST_MEMORY": "2G"}
    assert re.search(r"0\s*/ 2048\s+0\s*/ 0 ", npu_smi("info", **environment))
    memory = fields(npu_smi("info", "-t", "memory", "-i", "0", **environment))
    assert (memory["DDR Capacity(MB)"], memory["HBM Capacity(MB)"]) == ("2048", "0")


def test_devices_are_listed():
    text = npu_smi("info", "-l", TORCH_ACLNN_HOST_DEVICES="3")
    assert fields(text)["Total Count"] == "3" and re.findall(r"NPU ID\s+: (\d+)", text) == ["0", "1", "2"]


def test_chips_are_mapped_to_devices():
    header, *rows = npu_smi("info", "-m", TORCH_ACLNN_HOST_DEVICES="2").splitlines()
    assert re.split(r"\s{2,}", header.strip()) == ["NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"]
    assert [re.split(r"\s{2,}", row.strip()) for row in rows] == [["0", "0", "0", "Ascend 910B3"], ["1", "0", "1", "Ascend 910B3"]]


@pytest.mark.parametrize("order", [("-t", "usages", "-i", "1"), ("-i", "1", "-t", "usages", "-c", "0")])
def test_usages(order):
    usages = fields(npu_smi("info", *order, TORCH_ACLNN_HOST_DEVICES="2", TORCH_ACLNN_HOST_MEMORY="1G"))
    assert usages["NPU ID"] == "1" and usages["HBM Capacity(MB)"] == "1024"
    assert {value for name, value in usages.items() if "Rate(%)" in name} == {"0"}


def test_the_board_says_that_it_is_the_engine_and_the_chip_which_it_presents():
    board = fields(npu_smi("info", "-t", "board", "-i", "0"))
    assert board["Product Name"] == "torch_aclnn host engine" and board["Chip Count"] == "1"
    chip = fields(npu_smi("info", "-t", "board", "-i", "0", "-c", "0"))
    assert chip["Chip Type"] + chip["Chip Name"] == "Ascend910B3"


def test_the_version_names_the_engine():
    version = npu_smi("-v")
    assert re.fullmatch(r"npu-smi version: \d+\.\d+\.\d+\+torch\.aclnn\.host\.engine", version)
    assert version.removeprefix("npu-smi version: ") in npu_smi("info")
    assert "host engine" in run_python("", launcher=(NPU_SMI, "info")).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "-t", "topo"], "npu-smi info: argument -t: invalid choice: 'topo'"),
        (["info", "-t", "memory"], "npu-smi info: -i: expected a device in 0..0, got none"),
        (["info", "-t", "memory", "-i", "1"], "npu-smi info: -i: expected a device in 0..0, got 1"),
        (["info", "-t", "memory", "-i", "0", "-c", "1"], "npu-smi info: -c: expected 0, because each device has one chip, got 1"),
        (["set", "-t", "reset"], "npu-smi: argument command: invalid choice: 'set'"),
        ([], "npu-smi: expected info or -v"),
    ],
)
def test_anything_else_is_refused_in_one_line(arguments, message):
    done = run_python("", launcher=(NPU_SMI, *arguments))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(message)


def test_a_wrong_configuration_is_named():
    done = run_python("", launcher=(NPU_SMI, "info"), TORCH_ACLNN_HOST_DEVICES="none")
    assert done.returncode == 1 and done.stderr == 'npu-smi: aclInit: TORCH_ACLNN_HOST_DEVICES: expected a number in 1..64, got "none"\n'


def test_it_does_not_import_torch():
    code = "import sys, torch_aclnn_command; sys.argv[1:] = ['info']; torch_aclnn_command.npu_smi(); print('torch' in sys.modules)"
    assert output_of(code).splitlines()[-1] == "False"


def test_programs_of_the_commands_find_it_and_others_do_not():
    code = "import shutil; print(shutil.which('npu-smi'))"
    for command in ("run", "coverage"):
        assert output_of(code, launcher=(COMMAND, command, "-c")) == NPU_SMI
    assert output_of(f'eval "$({COMMAND} env)"; eval "$({COMMAND} env)"; command -v npu-smi', launcher=("bash", "-c")) == NPU_SMI
    assert output_of("", launcher=(COMMAND, "config", "--bindir")) == str(bindir())
    path = os.pathsep.join(d for d in os.environ["PATH"].split(os.pathsep) if d != str(bindir()))
    assert output_of(f"import torch_aclnn; {code}", PATH=path) != NPU_SMI


def test_a_reader_that_ends_early_is_no_error():
    done = subprocess.run(["bash", "-c", f"(sleep 0.5; exec {NPU_SMI} info) | true"], capture_output=True, text=True, timeout=60)
    assert "host engine" in done.stderr and done.stderr.count("\n") == 1
