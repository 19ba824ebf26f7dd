"""The contract of each entry point on planes, by family and dimensions: calls with exact results, and what is refused."""

from support.contracts.padding import Pad
from support.contracts.pooling import AdaptiveAvgPool, AvgPool
from support.contracts.unpooling import MaxUnpool
from support.families import padding

UNPOOLINGS = (MaxUnpool(2), MaxUnpool(3))
POOLINGS = (AvgPool(2), AvgPool(3))
PADDINGS = tuple(Pad(*which) for which in padding.MEMBERS)
CONTRACTS = (*POOLINGS, AdaptiveAvgPool(2), AdaptiveAvgPool(3), *PADDINGS, *UNPOOLINGS)
