"""Tools for testing what is built around a store."""
