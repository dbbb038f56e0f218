"""Searching files by what they say: each backend brings the passages that may be found, and all are ranked once.

`parts` is what backends hand each other: the `Question`, with a judge of the files that take part, and what each has to
offer. `in_store` offers the index of a namespace (`by_hand`: of files put there with nothing but their content),
`in_memory` an index made for one search, `by_reading` one of whatever a backend lists and gives to read, and `together`
ranks what all have offered and reads the passages found. So a composite has one ranking over all its routes, and what
a guard hides is out of it before anything is counted.
"""
