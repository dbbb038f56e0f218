"""How long a search takes, by the size of the scope and of the store, and how much room its index needs.

`python -m benchmarks.search --help`
"""
