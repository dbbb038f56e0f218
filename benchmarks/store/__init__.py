"""How long each operation takes at growing sizes, beside peers; import time; the size of histories.

`python -m benchmarks.store --help`
"""
