"""Marks for tests that hold only under some circumstances."""

import torch_aclnn
import pytest

host_engine_only = pytest.mark.skipif(not torch_aclnn.host.is_active(), reason="a promise of the host engine, not of an NPU")
