"""What the graph of a function keeps alive between forward and backward, in bytes."""

import gc

import torch_aclnn
import pytest
import torch
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_aclnn._operators import OPERATORS
from torch_aclnn.check.families import SPECIFICATIONS


class StorageWatch(TorchDispatchMode):
    """Remembers each storage that an operator returns, without keeping it alive.

    Counting what autograd saves is not enough: saved_tensors_hooks sees nothing that a Function stores in another way. A weak reference
    to the storage itself expires exactly when its memory is freed.
    """

    def __init__(self):
        super().__init__()
        self.seen = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for storage in (leaf.untyped_storage() for leaf in tree_leaves(result) if isinstance(leaf, Tensor)):
            self.seen[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        return result

    def alive(self):
        return sum(size for reference, size in self.seen.values() if not reference.expired())


def allocated():
    torch.npu.synchronize()  # the task queue holds the tensors of calls that it has not run yet
    return torch.npu.memory_allocated()


def kept(layer, input):
    """Return the bytes that are alive because the graph holds them, without the output.

    The layer's input is a product with a number, which saves nothing, so it dies unless the layer saves it.
    """
    if input.is_cpu:
        with StorageWatch() as watch:
            edge = get_gradient_edge(layer(input * 1.0))
        return watch.alive() if edge else None
    before = allocated()
    edge = get_gradient_edge(layer(input * 1.0))
    return allocated() - before if edge else None


def pyramid(modules):
    """Return a chain of torch.nn's layers or of ours; nothing else holds the results between them."""
    return nn.Sequential(
        modules.ReplicationPad2d(2),
        modules.AvgPool2d(3, stride=2),
        modules.ReplicationPad2d(1),
        modules.AvgPool2d(2),
        modules.AdaptiveAvgPool2d(7),
    )


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_each_function_keeps_no_more_than_torchs_own(operator, device):
    gc.collect()  # memory of reference cycles would be freed between two readings
    specification = SPECIFICATIONS[operator.name]
    input = torch.ones(specification.layer_shape, device=device, requires_grad=True)
    ours, theirs = specification.layers(input)
    assert kept(ours, input) <= kept(theirs, input)


def test_a_chain_of_layers_keeps_nothing_where_torchs_own_keeps_each_input(device):
    gc.collect()
    input = torch.ones(4, 32, 112, 112, device=device, requires_grad=True)
    assert kept(pyramid(torch_aclnn.nn), input) == 0
    assert kept(pyramid(nn), input) == pytest.approx(17.2e6, rel=0.01)


class KeepsBehindAutogradsBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.hidden = x
        return x.sum()


def test_what_is_kept_is_counted_to_the_byte_however_it_is_kept():
    input = torch.ones(2, 3, 8, 8, requires_grad=True)
    assert kept(nn.Sequential(nn.AvgPool2d(2), nn.AvgPool2d(2)), input) == input.nbytes + input.nbytes // 4
    assert kept(KeepsBehindAutogradsBack.apply, input) == input.nbytes
