"""What memory and skills in the prompt cost a turn of an agent, beside Deep Agents.

`python -m benchmarks.turn --help`
"""
