"""Observes a program from the import of torch_npu on, ends it after its steps, and writes what was seen into a file."""

import atexit
import functools
import gc
import os
import re
import sys
import weakref
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import torch_npu
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch_aclnn.host import counts
from torch_aclnn.host.dry_run import ValueRead, is_dry_run
from torch_aclnn.loading.hook_settings import SETTINGS
from torch_aclnn.observation import device, memory_report, step_trace
from torch_aclnn.observation.backward import Backwards, current_node
from torch_aclnn.observation.categories import Labels, label_after_step, label_before_step, label_modules
from torch_aclnn.observation.equal_ranks import EqualRanks, pipeline_stage, variable
from torch_aclnn.observation.forwards import Forwards
from torch_aclnn.observation.history import replay
from torch_aclnn.observation.lines import current_line, line_of
from torch_aclnn.observation.operations import ObservedStep
from torch_aclnn.observation.report import Communication, Failure, LineRead, Observed, OutOfMemory, Settings, load, save
from torch_aclnn.observation.steps import Steps

_OF_THE_ENGINE = re.compile(r"\baclnn\w+: ")

_observer: "Observer | None" = None


def install(directory: str) -> None:
    """Observe this process by the settings in the directory, and write the report there."""
    global _observer
    if _observer is None:
        _observer = Observer(Path(directory))


class Observer:
    """Collects what the report needs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._settings = load(Settings, directory / SETTINGS)
        self._process = os.getpid()
        self._finished = False
        self._used = False
        self._failure: Failure | None = None
        self._out_of_memory: OutOfMemory | None = None
        self._allocations = device.Allocations()
        self._steps = Steps()
        self._equal_ranks = EqualRanks(self._settings.equals)
        self._labels = Labels()
        self._last_step = ObservedStep()
        self._optimizers: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self._optimizer_spans: list[tuple[int, int]] = []
        self._begun = 0
        self._has_gradients = False
        self._ends: list[int] = []
        self._counted = counts.since_start()
        self._of_steps: list[counts.Statistics] = []
        self._communicators: set[str] = set()
        self._room = True
        device.when_initialized(self._device_is_used)
        atexit.register(self._at_exit)
        self._except = sys.excepthook
        sys.excepthook = self._excepthook

    def _device_is_used(self) -> None:
        if self._used or os.getpid() != self._process:
            return
        self._used = True
        self._trace(False)
        device.record_history()
        device.on_failed_allocation(self._failed_allocation)
        self._room = device.take(self._settings.context)
        self._backwards = Backwards(self._allocations.count, self._backward)
        self._forwards = Forwards(self._allocations.count, self._labels)
        self._watch_optimizers()
        if self._settings.steps == 1:
            self._last_step.start()

    def _watch_optimizers(self) -> None:
        known, initialise = self._optimizers, Optimizer.__init__

        @functools.wraps(initialise)
        def watched(optimizer: Optimizer, *arguments: Any, **options: Any) -> None:
            initialise(optimizer, *arguments, **options)
            known.add(optimizer)

        Optimizer.__init__ = watched  # type: ignore[method-assign, assignment]
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)

    def _backward(self) -> None:
        equal = self._equal_ranks.earlier()
        if equal is not None:
            self._save(Observed(end="equal", equal_to=equal))
            _leave()
        self._steps.backward()

    def _before_step(self, optimizer: Optimizer, _: object, __: object) -> None:
        self._begun = self._allocations.count()
        self._has_gradients = any(parameter.grad is not None for group in optimizer.param_groups for parameter in group["params"])
        label_before_step(self._labels, optimizer, self._begun)

    def _after_step(self, optimizer: Optimizer, _: object, __: object) -> None:
        if os.getpid() != self._process:
            return
        position = self._allocations.count()
        self._optimizer_spans.append((self._begun, position))
        label_after_step(self._labels, optimizer, position)
        if self._steps.step(id(optimizer), {id(one) for one in self._optimizers}, self._has_gradients):
            self._step_ended(position)

    def _trace(self, lines: bool) -> None:
        if self._settings.time:
            step_trace.resume(lines)

    def _step_ended(self, position: int) -> None:
        self._trace(False)
        self._last_step.stop()
        self._ends.append(position)
        self._count()
        done, asked = self._steps.done, self._settings.steps
        if done >= asked:
            self._finish("steps")
            self._equal_ranks.keep()
            _leave()
        if done == 1:
            self._write("running")
        if done == asked - 1:
            self._last_step.start()
            self._trace(True)

    def _count(self) -> None:
        device.synchronize()
        counted, before = counts.since_start(), self._counted
        self._of_steps.append(counted - before)
        self._counted = counted
        new = {one.communicator for one in counted.collectives} - self._communicators
        self._communicators |= new
        self._room = device.take(len(new) * self._settings.hccl_buffers) and self._room

    def _failed_allocation(self, _: int, size: int, total: int, free: int) -> None:
        node, node_line = current_node() or ("", "")
        line = current_line()
        where = f"{node_line or node} (its backward)" if node and not line else line
        self._out_of_memory = OutOfMemory(size, total, free, where, self._steps.done + 1)

    def _excepthook(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        places = []
        while traceback is not None:
            places.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
            traceback = traceback.tb_next
        self._failure = Failure(kind.__name__, _message(error), line_of(reversed(places)))
        self._except(kind, error, error.__traceback__)

    def _at_exit(self) -> None:
        failure = self._failure
        self._finish("interrupted" if failure and failure.kind == "KeyboardInterrupt" else "error" if failure else "program")

    def _finish(self, end: str) -> None:
        if self._finished or os.getpid() != self._process:
            return
        self._finished = True
        if not self._used:
            if self._failure is not None:
                self._save(Observed(end=end, failure=self._failure))
            return
        self._last_step.stop()
        if self._steps.done == 0 and device.synchronize():
            self._count()
        self._write(end)

    def _write(self, end: str) -> None:
        """Write the report, without collections of garbage, which would visit each event of the history again and again."""
        collects = gc.isenabled()
        gc.disable()
        try:
            self._save(self._observed(end))
        finally:
            if collects:
                gc.enable()
        if self._settings.snapshot and end != "running":
            torch_npu.npu.memory._dump_snapshot(self._settings.snapshot)

    def _observed(self, end: str) -> Observed:
        label_modules(self._labels, self._allocations.count())
        history = replay(device.trace(), self._ends)
        statistics = device.stats()
        memory = memory_report.report(
            history,
            self._labels,
            self._backwards,
            self._optimizer_spans,
            self._ends,
            allocated=self._allocations.peak(),
            retries=statistics["num_alloc_retries"],
            failures=statistics["num_ooms"],
            room=self._room,
        )
        trains = bool(self._backwards.spans or self._optimizers)
        return Observed(
            end=end,
            failure=self._failure,
            out_of_memory=self._out_of_memory,
            rank=variable("RANK"),
            world_size=variable("WORLD_SIZE"),
            stage=pipeline_stage(),
            dry=is_dry_run(),
            product=torch_npu.npu.get_device_name(),
            steps=self._steps.done,
            memory=memory,
            blocks=self._forwards.blocks(history, history.failed[0][0] if history.failed else history.peak()),
            serving=None if trains else self._forwards.serving(history),
            communicators=len(self._communicators),
            calls=[step.calls for step in self._of_steps],
            findings=self._last_step.findings,
            no_findings=self._last_step.problem,
            communication=[
                Communication(number, one.name, one.communicator, one.ranks, one.calls, one.bytes)
                for number, step in enumerate(self._of_steps, 1)
                for one in step.collectives
                if one.calls
            ],
            value_reads=_by_line(counts.since_start().value_reads),
            process=self._process,
            groups=step_trace.groups() if self._settings.time and end == "steps" else {},
        )

    def _save(self, report: Observed) -> None:
        unfinished = self._directory / f"{self._process}.unfinished"
        save(report, unfinished)
        unfinished.replace(unfinished.with_suffix(".json"))


def _leave() -> None:
    """End the process at once, so that no further code of the program runs, which might write a checkpoint."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)


def _message(error: BaseException) -> str:
    """Return the most useful line of the message: the engine's, which begins with the entry point, otherwise the first."""
    lines = str(error).strip().splitlines()
    engine = (line[found.start() :] for line in lines if (found := _OF_THE_ENGINE.search(line)))
    return next(engine, lines[0] if lines else "")


def _by_line(reads: Iterable[ValueRead]) -> list[LineRead]:
    """Return the reads of unknown values, the most frequent first; those of one line and size count as one."""
    sums: dict[tuple[str, int], list[int]] = {}
    for read in reads:
        line = line_of((file, line) for file, line, _ in read.stack)
        sum_of_line = sums.setdefault((line, read.bytes // read.count), [0, 0])
        sum_of_line[0] += read.count
        sum_of_line[1] += read.bytes
    rows = [LineRead(line, count, size) for (line, _), (count, size) in sums.items()]
    return sorted(rows, key=lambda row: -row.count)
