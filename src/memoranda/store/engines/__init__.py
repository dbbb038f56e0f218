"""The databases behind a store."""
