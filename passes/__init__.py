"""Passes: graph → graph (zoom, fuse, dead code, bind) and graph → notes (verify, cost).

No pass names an op: what it needs to know of one, it asks the op's record. A pass never changes
the graph it is given; what it did stands in the `notes` of the one it returns.
"""
