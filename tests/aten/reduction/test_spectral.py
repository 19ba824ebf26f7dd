"""spectral.cpp against definitions in float64."""

import pytest
import torch

from cases import constant, randn, rows, table, uniform
from support.marks import CUBE_MATH_TYPE

WINDOW = constant(uniform(16, low=0.1))


def stft(x, window, **options):
    return torch.view_as_real(torch.stft(x, 16, window=window, return_complex=True, **options))


def there_and_back(x, window):
    return torch.istft(torch.stft(x, 16, 4, window=window, return_complex=True), 16, 4, window=window)


CASES = [
    *rows("stft", stft, randn(64), WINDOW, close=True),
    *rows("stft-options", lambda x, w: stft(x, w, hop_length=5, center=False, normalized=True), randn(2, 64), WINDOW, close=True),
    *rows("stft-twosided", lambda x, w: stft(x, w, onesided=False), randn(64), WINDOW, close=True),
]


# torch_npu computes these by products of matrices.
BY_PRODUCTS = [
    *rows("stft-backward", stft, randn(64), WINDOW, close=True, backward=True),
    *rows("istft", there_and_back, randn(64), WINDOW, close=True),
    *rows("fft", lambda x: torch.view_as_real(torch.fft.fft(x)), randn(3, 8), close=True, backward=True),
    *rows("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), randn(3, 8), close=True, backward=True),
]
test_torchs_functions = table(CASES)
test_by_products = pytest.mark.skipif(
    CUBE_MATH_TYPE != 0, reason="op-plugin FFTc2cKernelNpuOpApi.cpp:309: cubeMathType 0, which products of FLOAT lack there"
)(table(BY_PRODUCTS))
