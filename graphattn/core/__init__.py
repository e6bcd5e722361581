"""The line that everything stands on, from errors to traces: each module may import only those before it."""
