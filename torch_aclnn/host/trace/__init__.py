"""What ``TORCH_ACLNN_HOST_TRACE`` writes, read: ``torch-aclnn trace`` sums it up and draws it (docs/trace.md)."""
