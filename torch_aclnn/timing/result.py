"""What is estimated of a step, as reports have it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KindOfLaunch:
    """The launches of an entry point in a step."""

    name: str
    seconds: float
    share: float
    count: int


@dataclass(frozen=True)
class Estimate:
    """How long a step would take on a chip.

    Attributes:
        card: what was asked for, and what its file describes.
        seconds: of a step; ``low`` and ``high`` are its range.
        utilisation: of the cube's peak for bfloat16, by the operations that are launched, those of recomputation too.
        tokens: of a step of this process, by the largest embedding; 0 where there is none.
        host: seconds in which the host is busy and does not wait for the device.
        idle: seconds in which the device has nothing to do.
        exposed: seconds in which it only communicates.
        bubbles: of the seconds, those in which a stage waits for the other stages, if they take as long as this one.
        stages: of the pipeline, or 1; ``messages`` are those of the pipeline, or 0.
        by_default: the share of the launches' time for which nothing but the bytes of different tensors is known.
        kinds: the entry points that take most.
        remarks: what would change it.

    """

    card: str
    seconds: float
    low: float
    high: float
    utilisation: float
    tokens: int
    host: float
    idle: float
    exposed: float
    bubbles: float
    stages: int
    messages: int
    by_default: float
    kinds: list[KindOfLaunch]
    remarks: list[str]
