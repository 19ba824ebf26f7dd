"""Estimated times beside those that NPUs took."""
