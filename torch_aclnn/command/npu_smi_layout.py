"""The layouts of ``npu-smi``, as Ascend's documentation shows them and programs parse them."""

from collections.abc import Mapping

from torch_aclnn.host.devices import Device

_UNKNOWN = "NA"
_HEALTH = "OK"


def summary(devices: list[Device], version: str) -> list[str]:
    """Return the table of ``npu-smi info``."""
    line, thick = (f"+{mark * 27}+{mark * 15}+{mark * 52}+" for mark in "-=")
    title, number = f"npu-smi {version.split('+')[0]}", f"Version: {version}"
    lines = [f"+{'-' * 96}+", f"| {title:33}{number:62}|", line]
    lines += [
        _row("NPU   Name", "Health", "Power(W)    Temp(C)           Hugepages-Usage(page)"),
        _row("Chip", "Bus-Id", "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)"),
        thick,
    ]
    for device in devices:
        hbm, ddr = (_usage(device) if device.has_hbm == hbm else "0    / 0" for hbm in (True, False))
        lines += [
            _row(f"{device.index:<6}{device.chip}", _HEALTH, f"{_UNKNOWN:12}{_UNKNOWN:18}0    / 0"),
            _row("0", _UNKNOWN, f"{0:<12}{ddr:18}{hbm}"),
            thick,
        ]
    lines += [line, f"| {'NPU     Chip':26}| {'Process id':14}| {'Process name':25}| {'Process memory(MB)':24}|", thick]
    for device in devices:
        lines += [f"| {f'No running processes found in NPU {device.index}':95}|", thick]
    return lines


def _row(first: str, second: str, third: str) -> str:
    return f"| {first:26}| {second:14}| {third:51}|"


def _usage(device: Device) -> str:
    return f"{device.used:<5}/ {device.total}"


def topology(devices: list[Device]) -> list[str]:
    """Return the list of ``npu-smi info -l``."""
    lines = [_field("Total Count", len(devices))]
    for device in devices:
        lines += ["", *_npu(device)]
    return lines


def mapping(devices: list[Device]) -> list[str]:
    """Return the table of ``npu-smi info -m``."""
    rows = [("NPU ID", "Chip ID", "Chip Logic ID", "Chip Name")]
    rows += [(str(device.index), "0", str(device.index), f"Ascend {device.chip}") for device in devices]
    return ["\t" + "".join(f"{cell:31}" for cell in row).rstrip() for row in rows]


def board(device: Device, version: str) -> list[str]:
    """Return the fields of ``npu-smi info -t board -i N``."""
    fields = {
        "NPU ID": device.index,
        "Product Name": "torch_aclnn host engine",
        **_same(_UNKNOWN, "Model", "Manufacturer", "Serial Number"),
        "Software Version": version,
        **_same(_UNKNOWN, "Firmware Version", "Board ID", "PCB ID", "BOM ID", "PCIe Bus Info"),
        "Chip Count": 1,
        "Faulty Chip Count": 0,
    }
    return _fields(fields)


def chip(device: Device, version: str) -> list[str]:
    """Return the fields of ``npu-smi info -t board -i N -c 0``."""
    unknown = _same(_UNKNOWN, "Chip Version", "Board ID", "PCB ID", "BOM ID", "PCIe Bus Info")
    names = {"NPU ID": device.index, "Chip ID": 0, "Chip Type": "Ascend", "Chip Name": device.chip}
    return _fields({**names, **unknown, "Firmware Version": version})


def memory(device: Device, version: str) -> list[str]:
    """Return the fields of ``npu-smi info -t memory -i N``."""
    hbm, ddr = _capacities(device)
    return [*_npu(device), "", *_fields({"DDR Capacity(MB)": ddr, "HBM Capacity(MB)": hbm, "Chip ID": 0})]


def usages(device: Device, version: str) -> list[str]:
    """Return the fields of ``npu-smi info -t usages -i N``; the engine has no cores whose use could be measured."""
    hbm, ddr = _capacities(device)
    percent = round(100 * device.used / device.total)
    cores = (f"{core} Usage Rate(%)" for core in ("Aicore", "Aivector", "Aicpu", "Ctrlcpu", "DDR Bandwidth", "HBM Bandwidth"))
    fields = {
        "DDR Capacity(MB)": ddr,
        "DDR Usage Rate(%)": 0 if device.has_hbm else percent,
        **_same(0, "DDR Hugepages Total(page)", "DDR Hugepages Usage Rate(%)"),
        "HBM Capacity(MB)": hbm,
        "HBM Usage Rate(%)": percent if device.has_hbm else 0,
        **_same(0, *cores, "Chip ID"),
    }
    return [*_npu(device), "", *_fields(fields)]


def _npu(device: Device) -> list[str]:
    return _fields({"NPU ID": device.index, "Chip Count": 1})


def _same(value: object, *names: str) -> dict[str, object]:
    return dict.fromkeys(names, value)


def _fields(fields: Mapping[str, object]) -> list[str]:
    return [_field(name, value) for name, value in fields.items()]


def _capacities(device: Device) -> tuple[int, int]:
    return (device.total, 0) if device.has_hbm else (0, device.total)


def _field(name: str, value: object) -> str:
    return f"\t{name:31}: {value}"
