"""The return codes of the operators' entry points."""

NULL, INVALID, RUNTIME_ERROR = 161001, 161002, 361001
