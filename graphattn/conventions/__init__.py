"""Calls of other libraries as graphs, by the names and arguments that they have there."""
