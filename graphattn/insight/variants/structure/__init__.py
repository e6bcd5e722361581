"""What is read of a graph before anything is changed: roles, parts, streams, sizes, rows, composites."""
