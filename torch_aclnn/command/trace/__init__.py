"""Reading the traces of ``TORCH_ACLNN_HOST_TRACE``: ``torch-aclnn trace`` sums them up and draws them (docs/trace.md)."""
