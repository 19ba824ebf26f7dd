"""All operators that the tests know; a further one is covered once its family has its row."""

from support.families import adaptive, batch_norm, padding, pooling, unpooling

_FAMILIES = (pooling, adaptive, padding, unpooling, batch_norm)
ROWS = {row.name: row for family in _FAMILIES for row in family.ROWS}
ENTRY_POINTS = {entry_point.name: entry_point for family in _FAMILIES for entry_point in family.ENTRY_POINTS}
GOOD = {name: entry_point.good for name, entry_point in ENTRY_POINTS.items()}
