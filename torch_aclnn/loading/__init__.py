"""Finding and loading CANN or the host engine, before and while torch_npu is imported. Nothing here imports torch itself."""
