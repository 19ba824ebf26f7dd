"""What the tests know of the operators, a module for each family: its `ROWS`, made by family and number of dimensions of a plane.

The modules use torch only within functions: the tests of the C interface import them in processes that have no torch.
"""
