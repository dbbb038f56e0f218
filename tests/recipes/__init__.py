"""The usage patterns of Deep Agents' and LangGraph's public memory guides, written anew against this package.

Where a published recipe does something else than it says, the test has the form that works, and its docstring says
why. The guide `docs/guides/deep-agents.md` collects these.
"""
