"""torch's profiler around one step."""

from typing import Any

from torch.autograd.profiler import profile
from torch_aclnn.observation.operations import findings
from torch_aclnn.observation.report import Finding


class ProfiledStep:
    """Profiles from :meth:`start` on, unless the program has a profiler that runs.

    Attributes:
        problem: why there are no findings, or "".
        findings: what the step did, once it is stopped.

    """

    def __init__(self) -> None:
        self.problem = "the run ended before the last step"
        self.findings: list[Finding] = []
        # Made before the program can exchange torch's activities, as torch_npu.contrib.transfer_to_npu does.
        self._profile = profile(use_kineto=True, record_shapes=True, with_stack=True)
        self._runs = False

    def start(self) -> None:
        """Begin to profile."""
        try:
            self._profile.__enter__()
        except Exception as error:  # of which the program must not hear
            self.problem = f"torch's profiler does not start, perhaps because the program uses it: {error}"
        else:
            self._runs, self.problem = True, ""

    def stop(self) -> None:
        """Stop, and find what the step did."""
        if not self._runs:
            return
        self._runs = False
        try:
            self._profile.__exit__(None, None, None)
            results: Any = self._profile.kineto_results
            self.findings = findings(results.experimental_event_tree())
        except Exception as error:
            self.problem = f"torch's profiler failed: {error}"
