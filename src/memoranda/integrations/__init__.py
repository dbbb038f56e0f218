"""Memoranda inside other frameworks: one module for each."""
