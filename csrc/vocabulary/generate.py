"""Writes what follows from the records: what csrc/engine/aten includes, public headers, functions that forward to them, and costs.

usage: generate.py HEADERS GENERATED
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import headers
import records
import sources


def main(header_folder: Path, generated: Path) -> None:
    """Write the public headers, and into the other folder what is compiled."""
    known = records.read_all()
    with_kernels = records.read_own()
    own, others = headers.of_records(with_kernels), headers.of_records(known)
    written = headers.write_headers(header_folder, own, others)
    written[generated / "forwarders.cpp"] = headers.forwarders(others)
    written |= _sources(generated / "vocabulary", known)
    written[generated / "vocabulary" / "parameters.h"] = sources.parameters(with_kernels)
    written[generated / "vocabulary" / "facts.inc"] = sources.facts(known)
    written[header_folder.parent / "costs.json"] = json.dumps(dict(_costs([*with_kernels, *known])), indent=1)
    for path, text in written.items():
        _write(path, text)
    for path in {*(header_folder / "aclnnop").rglob("*.h"), *(generated / "vocabulary").rglob("*.cpp")} - written.keys():
        path.unlink()


def _sources(folder: Path, known: list[records.Record]) -> dict[Path, str]:
    versions, by_source = defaultdict(list), defaultdict(list)
    for record in known:
        versions[record.struct].append(record)
        by_source[record.family, record.source].append(record)
    written = {}
    for (family, source), members in by_source.items():
        file = records.FOLDER / f"{family}.yaml"
        lines = {line.strip().partition(":")[0]: number for number, line in enumerate(file.read_text().splitlines(), 1)}
        written[folder / family / f"{source}_calls.h"] = sources.structs(family, source, members, versions)
        written[folder / family / f"{source}.cpp"] = sources.unit(family, source)
        written[folder / family / f"{source}_rows.inc"] = sources.rows(family, source, members, versions, str(file), lines)
    return written


def _costs(known: Iterable[records.Record]) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """Yield what is stated of the launches of an entry point, and which tensors are both read and written."""
    for record in known:
        changed = [parameter.name for parameter in record.parameters if "InOut" in parameter.kind.name and "fills" not in record.facts]
        if record.cost or changed:
            yield record.name, (record.cost, changed)


def _write(path: Path, text: str) -> None:
    # An unchanged file keeps its date, so that nothing is compiled again.
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
