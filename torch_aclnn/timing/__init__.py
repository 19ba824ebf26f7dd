"""How long the launches of a dry run would take on a chip: an estimate with its range (docs/how_long.md).

Nothing here imports torch.
"""
