"""y = ln x, every cell; ln 0 = −∞, NaN below 0 (IEEE 754)."""

from ..core.elementwise import over, unary
from ..core.op import Sample, register

register(
    unary(
        "log", "ln", "y = ln x", lambda numbers: numbers.log, onnx="Log",
        torch="torch.log({x})",
        gradient=lambda g, dy, y, x: (over(g, dy, x),),
        samples=(Sample(([[0.5, 1.0, 10.0], [2.5, 1e-300, 1e300]],)), Sample(([0.0, 3.0],)), Sample(([],))),
    )
)  # fmt: skip
