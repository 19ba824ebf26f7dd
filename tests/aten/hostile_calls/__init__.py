"""Calls of every entry point on ATen's kernels with arguments that nothing promises to be right, each in a process that may end.

Each is refused by phase 1, fails as it is computed with a documented code, or is computed: then all elements of its outputs are written,
and nothing else. `generated` goes through the inputs one by one, `drawn` changes whatever a seed and the call's number say.
"""
