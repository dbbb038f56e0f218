"""What the benchmarks share: texts, contenders, timing, tables, a PostgreSQL server."""
