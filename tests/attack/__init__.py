"""Faults that were looked for on purpose; each test failed when it was written."""
