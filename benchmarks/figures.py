"""Figures computed from times: ratios, geometric means, and a comparison with an earlier run."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LARGE_BYTES = 2**20


class UnusableFile(Exception):
    """A file of earlier figures that cannot be compared with."""


@dataclass(frozen=True)
class Figures:
    """One case's milliseconds per call, and the bytes that must move."""

    name: str
    group: str
    bytes: int
    ours_ms: float
    aten_ms: float
    inductor_ms: float | None = None
    inductor_calls_aten: bool = False
    doubtful: bool = False  # other programs took processor time meanwhile

    @property
    def label(self) -> str:
        """The name without the part that the group's name repeats."""
        return " ".join(word for word in self.name.split() if word not in self.group.split())

    @property
    def peer_ms(self) -> float:
        """The milliseconds of the faster peer."""
        return min(self.aten_ms, self.inductor_ms if self.inductor_ms is not None else math.inf)

    @property
    def against_peer(self) -> float:
        """How many times faster than the best peer we are."""
        return self.peer_ms / self.ours_ms

    def ideal_ms(self, copy_gb_per_s: float) -> float:
        """Return the time in which copy_ moves as many bytes."""
        return self.bytes / copy_gb_per_s / 1e6

    def against_ideal(self, copy_gb_per_s: float) -> float:
        """Return our time as a multiple of the ideal."""
        return self.ours_ms / self.ideal_ms(copy_gb_per_s)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean, with which ratios and their inverses agree; NaN if there are none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan


def by_group(cases: Iterable[Figures]) -> dict[str, list[Figures]]:
    """Return the cases of each group, in the order in which they came."""
    groups: dict[str, list[Figures]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(case)
    return groups


def reliable(cases: Iterable[Figures]) -> list[Figures]:
    """Return the cases that are not doubtful, from which means and conclusions are computed."""
    return [case for case in cases if not case.doubtful]


def large(cases: Iterable[Figures]) -> list[Figures]:
    """Return the cases that move at least 1 MiB, whose time depends on memory rather than on the overhead of a call."""
    return [case for case in cases if case.bytes >= LARGE_BYTES]


def slower_than_peer(cases: Iterable[Figures]) -> list[Figures]:
    """Return the cases in which the best peer is faster, the worst first."""
    return sorted((case for case in cases if case.against_peer < 1), key=lambda case: case.against_peer)


def as_json(cases: list[Figures], copy_gb_per_s: float, machine: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """Return all figures, with the ratios that the table shows."""
    return {
        "benchmark": "kernels",
        "machine": machine,
        "how": how,
        "copy_gb_per_s": copy_gb_per_s,
        "geometric_mean_against_peer": {
            name: _mean_or_none(case.against_peer for case in reliable(group)) for name, group in {**by_group(cases), "all": cases}.items()
        },
        "geometric_mean_against_ideal_from_1_mib_on": _mean_or_none(case.against_ideal(copy_gb_per_s) for case in large(reliable(cases))),
        "cases": [
            {
                **asdict(case),
                "ideal_ms": case.ideal_ms(copy_gb_per_s),
                "against_peer": case.against_peer,
                "against_ideal": case.against_ideal(copy_gb_per_s),
            }
            for case in cases
        ],
    }


def _mean_or_none(values: Iterable[float]) -> float | None:
    mean = geometric_mean(values)
    return None if math.isnan(mean) else mean  # JSON has no NaN


@dataclass(frozen=True)
class Earlier:
    """Our milliseconds per case, and the speed of copy_, in an earlier run."""

    ours_ms: dict[str, float]
    copy_gb_per_s: float

    def speedup(self, case: Figures) -> float | None:
        """Return old time / new time, or None if the case was not measured then."""
        old = self.ours_ms.get(case.name)
        return None if old is None else old / case.ours_ms


def read_earlier(path: Path, names: Iterable[str]) -> Earlier:
    """Read what --json wrote, in a run with at least one case of these names."""
    try:
        document = json.loads(path.read_text())
        earlier = Earlier({case["name"]: float(case["ours_ms"]) for case in document["cases"]}, float(document["copy_gb_per_s"]))
    except OSError as error:
        raise UnusableFile(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UnusableFile(f"{path}: expected figures that python -m benchmarks.kernels --json wrote") from error
    if earlier.ours_ms.keys().isdisjoint(names):
        raise UnusableFile(f"{path}: expected at least one of the cases that are measured now")
    return earlier
