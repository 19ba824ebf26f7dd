"""Measurements of speed, calling cost and memory; see README.md in this folder."""

import torch_aclnn  # noqa: F401  (before torch: it decides which libraries answer on the npu device, and registers our operators)
