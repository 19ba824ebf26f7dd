"""The settings that the import hook reads; the commands read them here without loading the hook."""

GPU_IS_VISIBLE = "a GPU is visible in addition to the npu device, and torch uses one kind of accelerator in a process"

SWITCH = "TORCH_ACLNN_IMPORT_HOOK"
# A directory with the settings of an observer, which `torch-aclnn dryrun` makes.
OBSERVE, SETTINGS = "TORCH_ACLNN_HOST_OBSERVE", "settings.json"
