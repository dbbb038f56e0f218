"""How much of what is asked for is found: recall on conversations with labelled evidence, beside other search tools.

`python -m benchmarks.recall --help`
"""
