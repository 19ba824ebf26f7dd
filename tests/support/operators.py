"""All operators that the tests know; a further one is covered once its family has its row."""

from support.families import adaptive, batch_norm, padding, pooling, unpooling

ROWS = {row.name: row for family in (pooling, adaptive, padding, unpooling, batch_norm) for row in family.ROWS}
ENTRY_POINTS = {row.entry_point.name: row.entry_point for row in ROWS.values()}
GOOD = {name: entry_point.good for name, entry_point in ENTRY_POINTS.items()}
