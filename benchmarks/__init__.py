"""Benchmarks: Memoranda beside LangGraph's stores and Deep Agents' `StoreBackend`, in one run.

- `python -m benchmarks.store`: how long each operation takes, at growing sizes; import time; size of histories.
- `python -m benchmarks.concurrency`: whether anything is lost under many writers, and how long they wait.
- `benchmarks.support`: what both share: texts, contenders, timing, tables, a PostgreSQL server.
"""
