"""What entry points compute of drawn arguments, compared with their definitions in float64 and int64.

`drawn` and `attention` draw calls that phase 1 takes, `contents` fills their tensors, `computed` makes them and compares. A definition is
in `definitions.txt`, or the expression of the record itself in Python (`translated`), or that of attention.
"""
