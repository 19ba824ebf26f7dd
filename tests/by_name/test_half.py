"""What torch_npu has computed in float16 whatever it is given."""

import json

import torch

from support.subprocesses import output_of


def test_overlaps_of_boxes_with_a_hundredth_on_their_sides():
    code = """
    import torch, torch_aclnn, torch_npu
    boxes = torch.tensor([[0, 0, 10, 10], [10, 10, 20, 20]]).half().npu()
    truths = torch.tensor([[0, 0, 10, 20], [10, 10, 20, 20]]).half().npu()
    print([torch_npu.npu_iou(boxes, truths, mode).tolist() for mode in (0, 1)])
    """
    square, tall = 10.01**2, 10.01 * 20.01
    of_union, of_truth = ([[100 / a, 0], [0, 100 / b]] for a, b in ((square + tall - 100, 2 * square - 100), (tall, square)))
    torch.testing.assert_close(torch.tensor(json.loads(output_of(code))), torch.tensor([of_union, of_truth]), rtol=0, atol=1e-3)
