"""What `GuardedBackend` is made of.

Room by room: `layers` the rules and hooks in force, `looking` the state of a file without the thread taking note of
it, `planning` what a change would make of it, `consulting` the hooks, `landing` how a checked change is applied,
`waiting` approvals and proposals, `changing` all of that in order, `reading` what may be seen, `telling` events.
"""
