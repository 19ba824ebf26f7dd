"""What ``torch-aclnn dryrun`` sees of a program: its steps, its memory and its calls, observed in the program's own process.

Nothing here changes what the program computes, allocates or calls. In particular no mode of ``torch.utils._python_dispatch`` is used, under
which autograd accumulates gradients out of place.
"""
