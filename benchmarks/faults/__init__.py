"""The long versions of the fault tests: what a store still holds after its processes were killed."""
