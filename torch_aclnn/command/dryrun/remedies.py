"""Changes that would make a program fit, each with its arithmetic, computed from a run with more memory."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch_aclnn.command.dryrun.fits import counted
from torch_aclnn.command.dryrun.screen import paragraph, row, size
from torch_aclnn.observation.report import Moment, Report

PARAMETERS, GRADIENTS, STATE = "parameters and buffers", "gradients", "optimizer state"
OF_THE_BATCH = ("activations and inputs", "activations, recomputed", "backward's temporaries")

_LEAST = 0.01  # as a part of the total; a change that saves less is not named
_RANKS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Remedy:
    """A change of the program, its arithmetic, and the bytes that the program would then need."""

    what: str
    how: str
    needed: int


def remedies(report: Report, moment: Moment) -> Iterator[Remedy]:
    """Yield those that save something at the peak; with the change, another moment may become the peak."""
    needed, parts = report.fits.needed, moment.categories
    blocks = report.blocks
    if blocks is not None:
        kept = blocks.calls * blocks.input + blocks.largest
        how = f"{size(blocks.bytes)} become {counted(blocks.calls, 'input')} of {size(blocks.input)} and one block's {size(blocks.largest)}"
        yield Remedy(f"recompute the blocks in the backward ({blocks.name})", how, needed - max(blocks.bytes - kept, 0))
    scaled = sum(parts.get(name, 0) for name in OF_THE_BATCH)
    fraction = (report.fits.total - needed + scaled) / scaled if scaled else 0
    if 0 < fraction < 1:
        how = f"activations and temporaries, {size(scaled)}, are taken to be proportional; the rest is {size(needed - scaled)}"
        yield Remedy(f"a batch, or a length, of at most {fraction:.2f} times this one", how, needed - round(scaled * (1 - fraction)))
    parameters, state = parts.get(PARAMETERS, 0), parts.get(STATE, 0)
    divided = parameters + parts.get(GRADIENTS, 0) + state
    if not report.world_size:
        gathered = 2 * parameters // (blocks.calls if blocks else 1)
        enough = (ranks for ranks in _RANKS if _sharded(needed, divided, gathered, ranks) <= report.fits.total)
        ranks = next(enough, _RANKS[-1])
        how = (
            f"{size(divided)} of parameters, gradients and optimizer state are divided; {size(gathered)} of parameters are gathered at once"
        )
        ways = "tensor parallelism" if report.serving else "FSDP2, ZeRO 3"
        yield Remedy(f"shard over {ranks} ranks ({ways})", how, _sharded(needed, divided, gathered, ranks))
    yield Remedy("keep the optimizer's state on the host (offload)", f"{size(state)} less", needed - state)


def lines(report: Report) -> list[str]:
    """Return the part of the report; nothing if the program fits, or did not come to its peak."""
    moment = report.memory.peak if report.memory is not None else None
    if moment is None or report.fits.needed <= report.fits.total:
        return []
    found = ["", row("WHAT WOULD HELP; the program needs in all", size(report.fits.needed))]
    for one in remedies(report, moment):
        if report.fits.needed - one.needed >= _LEAST * report.fits.total:
            fits = "fits" if one.needed <= report.fits.total else "too large"
            found += [row(f"  {one.what}", f"{size(one.needed)}, {fits}"), *paragraph(one.how, "    ")]
    return found


def _sharded(needed: int, divided: int, gathered: int, ranks: int) -> int:
    return needed - divided + divided // ranks + gathered
