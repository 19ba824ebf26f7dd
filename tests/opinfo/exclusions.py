"""The samples that cannot pass, of all operators."""

from opinfo.entries import MODULES
from opinfo.exclusion import Exclusion

EXCLUSIONS: tuple[Exclusion, ...] = tuple(exclusion for module in MODULES for exclusion in module.EXCLUSIONS)
