"""torch's profiler around one step."""

from typing import Any

from torch.profiler import ProfilerActivity, profile
from torch_aclnn.observation.operations import Finding, findings


class ProfiledStep:
    """Profiles from :meth:`start` on, unless the program has a profiler that runs.

    Attributes:
        problem: why there are no findings, or "".
        findings: what the step did, once it is stopped.

    """

    def __init__(self) -> None:
        self.problem = "the run ended before the last step"
        self.findings: list[Finding] = []
        self._profile: profile | None = None

    def start(self) -> None:
        """Begin to profile."""
        profiler = profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True)
        try:
            profiler.start()
        except RuntimeError as error:
            self.problem = f"torch's profiler does not start, perhaps because the program uses it: {error}"
        else:
            self._profile, self.problem = profiler, ""

    def stop(self) -> None:
        """Stop, and find what the step did."""
        if self._profile is None:
            return
        try:
            self._profile.stop()
            results: Any = self._profile.profiler.kineto_results  # type: ignore[union-attr]
            self.findings = findings(results.experimental_event_tree())
        except (RuntimeError, AttributeError) as error:
            self.problem = f"torch's profiler failed: {error}"
        finally:
            self._profile = None
