"""A module, its graph, and every float that torch computes on the way, held against each other."""

from needed import torch

from graphattn.torch.calling import read
from graphattn.torch.live import exported_from, flat

HIDES = -1e9


def values_of(exported, args, kwargs):
    """What each node of an exported program gives, as torch.fx runs it."""
    found = {}

    class Keeper(torch.fx.Interpreter):
        def run_node(self, n):
            value = super().run_node(n)
            found[n.name] = value.clone() if isinstance(value, torch.Tensor) else value
            return value

    given, stored = iter(flat(exported, args, kwargs)), {**exported.state_dict, **exported.constants}
    specs = exported.graph_signature.input_specs
    with torch.no_grad():
        Keeper(exported.graph_module).run(
            *(next(given) if spec.kind.name == "USER_INPUT" else stored[spec.target] for spec in specs)
        )
    return {name: value for name, value in found.items() if isinstance(value, torch.Tensor)}


def apart(mine, theirs):
    """How far two tensors are apart, relative to 1 or to their size; cells that hide are compared as such."""
    assert mine.shape == theirs.shape, (mine.shape, theirs.shape)
    hidden = theirs <= HIDES
    assert torch.equal(hidden, mine <= HIDES)
    mine, theirs = (torch.where(hidden, 0.0, x) for x in (mine, theirs))
    if not theirs.numel():
        return 0.0
    return ((mine - theirs).abs().max() / theirs.abs().max().clamp(min=1)).item()


def worst(module, *args, **kwargs):
    """The reading, its trace, and the largest distance of all float nodes of the program."""
    exported = exported_from(module, args, kwargs)
    reading = read(exported, args, kwargs)
    trace = reading.specimen().run()
    distance, count = 0.0, 0
    for name, theirs in values_of(exported, args, kwargs).items():
        if theirs.is_floating_point() and name in reading.named:
            mine = torch.tensor(trace[reading.named[name]], dtype=torch.float64)
            distance, count = max(distance, apart(mine, theirs.double())), count + 1
        elif theirs.is_floating_point():
            assert not computed(exported, name), name
    assert count
    return reading, trace, distance


def computed(exported, name):
    """Whether a node is a step that depends on a float that the program is fed, or on a parameter."""
    specs = exported.graph_signature.input_specs
    inputs = {spec.arg.name for spec in specs if spec.kind.name in ("USER_INPUT", "PARAMETER")}
    open_nodes = [n for n in exported.graph.nodes if n.name == name and n.op == "call_function"]
    while open_nodes:
        node = open_nodes.pop()
        value = node.meta.get("val")
        if node.name in inputs and isinstance(value, torch.Tensor) and value.is_floating_point():
            return True
        open_nodes += node.all_input_nodes
    return False
