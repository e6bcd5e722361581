"""Name the mistake behind a wrong result."""
