"""The samples that cannot pass, of all operators."""

from opinfo.exclusion import Exclusion
from opinfo.families import FAMILIES

EXCLUSIONS: tuple[Exclusion, ...] = tuple(exclusion for family in FAMILIES.values() for exclusion in family.EXCLUSIONS)
