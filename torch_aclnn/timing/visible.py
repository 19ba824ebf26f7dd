"""How many pairs of a query and a key attention looks at."""

_ALL, _LEFT_UP, _RIGHT_DOWN, _BAND = 1, 2, 3, 4
_SAMPLES = 64


def visible_pairs(queries: int, keys: int, mode: int, before: int, after: int) -> float:
    """Return the pairs within the band of ``sparseMode``, ``preTokens`` and ``nextTokens``; blocks outside it are not computed."""
    if mode == _ALL or queries <= 0 or keys <= 0:
        return float(max(queries, 0) * max(keys, 0))
    shift = keys - queries if mode in (_RIGHT_DOWN, _BAND) else 0
    if mode in (_LEFT_UP, _RIGHT_DOWN):
        before, after = 1 << 31, 0
    step = max(queries // _SAMPLES, 1)
    rows = range(step // 2, queries, step)
    seen = (min(keys - 1, row + shift + after) - max(0, row + shift - before) + 1 for row in rows)
    return sum(max(0, row) for row in seen) * queries / len(rows)
