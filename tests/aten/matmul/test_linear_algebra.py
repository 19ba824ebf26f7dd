"""linear_algebra.cpp: what op-plugin's tests have beside the pages."""

import torch

from cases import DEVICE, close
from support.marks import of_a2_and_a3


@of_a2_and_a3
def test_matrices_and_vectors_of_bfloat16():
    matrix, vector = torch.randn(5, 300).bfloat16(), torch.randn(300).bfloat16()
    close(torch.mv(matrix.to(DEVICE), vector.to(DEVICE)), torch.mv(matrix.double(), vector.double()))
