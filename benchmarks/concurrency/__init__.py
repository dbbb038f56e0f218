"""Whether anything is lost when many threads and processes write the same files, and how long they wait.

`python -m benchmarks.concurrency --help`
"""
