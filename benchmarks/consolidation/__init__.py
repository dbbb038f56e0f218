"""What consolidation costs: runs per second, the store's share of a run, memory, and schedules that have nothing to do.

`python -m benchmarks.consolidation --help`
"""
