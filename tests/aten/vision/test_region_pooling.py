"""region_pooling.cpp: the mode that torch_npu.contrib's ROIAlign passes, against torch_npu's own test of it."""

import torch
from torch_npu.contrib.module import ROIAlign

from cases import DEVICE


def test_regions_whose_pixels_are_in_the_middle_of_their_squares():
    image = torch.arange(1.0, 37).view(1, 1, 6, 6).to(DEVICE).requires_grad_()
    rois = torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]]).to(DEVICE)
    result = ROIAlign((3, 3), 0.25, 2)(image, rois)
    assert result.detach().cpu().flatten().tolist() == [2.75, 4.5, 6.5, 13.25, 15.0, 17.0, 25.25, 27.0, 29.0]
    result.sum().backward()
    along = torch.tensor([0.75, 0.5, 0.5, 0.5, 0.5, 0.25])
    assert image.grad.cpu()[0, 0].equal(along.unsqueeze(1) * along)
