"""The ``torch-aclnn`` command and the engine's ``npu-smi``. Nothing here imports torch, so that they work where torch does not import."""
