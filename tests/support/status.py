"""The return codes of the operators' entry points."""

NULL, INVALID, BEYOND_STORAGE, RUNTIME_ERROR = 161001, 161002, 561103, 361001
