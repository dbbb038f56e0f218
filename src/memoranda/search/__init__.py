"""Search without any I/O: words, passages, packed blocks, ranking.

Import the rooms themselves (`memoranda.search.tokens`, …); importing this package loads none of them, nor numpy.
"""
