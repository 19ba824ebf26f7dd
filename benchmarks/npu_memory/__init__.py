"""Dry runs of the configurations of a public CI beside the memory that NPUs measured there."""
