"""The commands, by what a person wants: to look, to change, to look back, to search, to move, to keep house."""
