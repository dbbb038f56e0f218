"""The versioned store. What is public is named in `memoranda`."""
