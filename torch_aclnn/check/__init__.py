"""The command ``torch-aclnn check``: check the operators on the ``npu`` device of this machine, be it an NPU or the host engine.

The command (:mod:`~torch_aclnn.check.command`) imports neither torch nor the rest of the package, so that it can report what is wrong with
them. Everything is computed in workers (:mod:`~torch_aclnn.check.worker`), a process for each mode of torch_npu's task queue.
"""
