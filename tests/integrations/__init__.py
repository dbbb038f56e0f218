"""Tests beside other frameworks, at work on our backends and our store."""
