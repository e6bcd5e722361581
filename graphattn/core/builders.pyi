# Written by graphattn.core.builders.stub() from the registry; do not edit.
from collections.abc import Sequence
from typing import Any

from .graph import Operand, Tensor, Tensors

def stub() -> str: ...

class Builders:
    def apply(self, op: str, /, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def add(
        self,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a + b"""

    def alibi_bias(
        self,
        heads: int,
        n: int,
        n_k: int | None = None,
        *,
        offset: int = 0,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """−slope · |i + offset − j|"""

    def attention(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        mask: Operand | None = None,
        bias: Operand | None = None,
        sink: Operand | None = None,
        *,
        causal: bool = False,
        offset: int = 0,
        window: Sequence[Any] | None = None,
        appended: int = 0,
        scale: float | str | None = None,
        softcap: float | str | None = None,
        empty: str = "zero",
        name: str | None = None,
        title: str | None = None,
    ) -> Tensors:
        """softmax(q kᵀ / √dₖ) v"""

    def block(
        self,
        x: Operand,
        mask: Operand | None = None,
        gamma: Operand | None = None,
        beta: Operand | None = None,
        w_q: Operand | None = None,
        b_q: Operand | None = None,
        w_k: Operand | None = None,
        b_k: Operand | None = None,
        w_v: Operand | None = None,
        b_v: Operand | None = None,
        w_o: Operand | None = None,
        b_o: Operand | None = None,
        bias: Operand | None = None,
        past_k: Operand | None = None,
        past_v: Operand | None = None,
        appended_k: Operand | None = None,
        appended_v: Operand | None = None,
        gamma_q: Operand | None = None,
        gamma_k: Operand | None = None,
        cos: Operand | None = None,
        sin: Operand | None = None,
        sink: Operand | None = None,
        *,
        heads: int,
        causal: bool = False,
        offset: int = 0,
        window: Sequence[Any] | None = None,
        scale: float | str | None = None,
        softcap: float | str | None = None,
        empty: str = "zero",
        kv_heads: int | None = None,
        masks_by_head: bool = False,
        zero_key: bool = False,
        rotary: float | str | None = None,
        rotary_pairs: int | None = None,
        interleaved: bool = False,
        eps_qk: float | str = "1e-05",
        eps: float | str = 1e-05,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """x + multi_head(LayerNorm(x))"""

    def broadcast(
        self,
        x: Operand,
        shape: Sequence[Any],
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x, repeated"""

    def causal_mask(
        self,
        n: int,
        n_k: int | None = None,
        *,
        offset: int = 0,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """True where j ≤ i + offset"""

    def concat(
        self,
        *xs: Operand,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """side by side"""

    def constant(
        self,
        value: float | str | Sequence[Any],
        *,
        axes: Sequence[Any] | None = None,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """part of the graph"""

    def cos(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = cos x"""

    def decoder_layer(
        self,
        x: Operand,
        memory: Operand,
        mask: Operand | None = None,
        memory_mask: Operand | None = None,
        gamma_1: Operand | None = None,
        beta_1: Operand | None = None,
        gamma_2: Operand | None = None,
        beta_2: Operand | None = None,
        gamma_3: Operand | None = None,
        beta_3: Operand | None = None,
        w_in: Operand | None = None,
        b_in: Operand | None = None,
        w_out: Operand | None = None,
        b_out: Operand | None = None,
        w_gate: Operand | None = None,
        b_gate: Operand | None = None,
        w_q2: Operand | None = None,
        b_q2: Operand | None = None,
        w_k2: Operand | None = None,
        b_k2: Operand | None = None,
        w_v2: Operand | None = None,
        b_v2: Operand | None = None,
        w_o2: Operand | None = None,
        b_o2: Operand | None = None,
        w_q: Operand | None = None,
        b_q: Operand | None = None,
        w_k: Operand | None = None,
        b_k: Operand | None = None,
        w_v: Operand | None = None,
        b_v: Operand | None = None,
        w_o: Operand | None = None,
        b_o: Operand | None = None,
        bias: Operand | None = None,
        past_k: Operand | None = None,
        past_v: Operand | None = None,
        appended_k: Operand | None = None,
        appended_v: Operand | None = None,
        gamma_q: Operand | None = None,
        gamma_k: Operand | None = None,
        cos: Operand | None = None,
        sin: Operand | None = None,
        sink: Operand | None = None,
        *,
        heads: int,
        offset: int = 0,
        window: Sequence[Any] | None = None,
        scale: float | str | None = None,
        softcap: float | str | None = None,
        empty: str = "zero",
        kv_heads: int | None = None,
        masks_by_head: bool = False,
        zero_key: bool = False,
        rotary: float | str | None = None,
        rotary_pairs: int | None = None,
        interleaved: bool = False,
        eps_qk: float | str = "1e-05",
        norm_first: bool = True,
        norm: str = "layernorm",
        activation: str = "relu",
        eps: float | str = 1e-05,
        causal: bool = True,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """self-attention, attention to memory, feed-forward"""

    def divide(
        self,
        a: Operand,
        b: Operand,
        *,
        absorb_zeros: bool = False,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a / b"""

    def embedding(
        self,
        table: Operand,
        ids: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y[…] = table[ids[…]]"""

    def encoder_layer(
        self,
        x: Operand,
        mask: Operand | None = None,
        gamma_1: Operand | None = None,
        beta_1: Operand | None = None,
        gamma_2: Operand | None = None,
        beta_2: Operand | None = None,
        w_in: Operand | None = None,
        b_in: Operand | None = None,
        w_out: Operand | None = None,
        b_out: Operand | None = None,
        w_gate: Operand | None = None,
        b_gate: Operand | None = None,
        post_gamma_1: Operand | None = None,
        post_beta_1: Operand | None = None,
        post_gamma_2: Operand | None = None,
        post_beta_2: Operand | None = None,
        w_q: Operand | None = None,
        b_q: Operand | None = None,
        w_k: Operand | None = None,
        b_k: Operand | None = None,
        w_v: Operand | None = None,
        b_v: Operand | None = None,
        w_o: Operand | None = None,
        b_o: Operand | None = None,
        bias: Operand | None = None,
        past_k: Operand | None = None,
        past_v: Operand | None = None,
        appended_k: Operand | None = None,
        appended_v: Operand | None = None,
        gamma_q: Operand | None = None,
        gamma_k: Operand | None = None,
        cos: Operand | None = None,
        sin: Operand | None = None,
        sink: Operand | None = None,
        *,
        heads: int,
        causal: bool = False,
        offset: int = 0,
        window: Sequence[Any] | None = None,
        scale: float | str | None = None,
        softcap: float | str | None = None,
        empty: str = "zero",
        kv_heads: int | None = None,
        masks_by_head: bool = False,
        zero_key: bool = False,
        rotary: float | str | None = None,
        rotary_pairs: int | None = None,
        interleaved: bool = False,
        eps_qk: float | str = "1e-05",
        norm_first: bool = True,
        post_norm: bool = False,
        parallel: bool = False,
        norm: str = "layernorm",
        activation: str = "relu",
        eps: float | str = 1e-05,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """attention, then feed-forward, each with norm and residual"""

    def equal(
        self,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = (a = b)"""

    def erf(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = erf x"""

    def exp(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = exp(x)"""

    def feed_forward(
        self,
        x: Operand,
        w_in: Operand,
        b_in: Operand | None = None,
        w_out: Operand | None = None,
        b_out: Operand | None = None,
        w_gate: Operand | None = None,
        b_gate: Operand | None = None,
        *,
        activation: str = "relu",
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """act(x W_inᵀ + b) W_outᵀ + b"""

    def gelu(
        self,
        x: Operand,
        *,
        approximate: str = "none",
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x · Φ(x)"""

    def is_positive(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = (x > 0)"""

    def is_visible(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = (x ≠ −∞)"""

    def layernorm(
        self,
        x: Operand,
        gamma: Operand | None = None,
        beta: Operand | None = None,
        *,
        eps: float | str = 1e-05,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """(x − mean) / √(variance + eps), each row"""

    def less(
        self,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = (a < b)"""

    def linear(
        self,
        x: Operand,
        w: Operand,
        b: Operand | None = None,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x Wᵀ + b"""

    def log(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = ln x"""

    def log_softmax(
        self,
        x: Operand,
        *,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """x − max − ln Σ exp(x − max), each row"""

    def logical_and(
        self,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a and b"""

    def logical_not(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = not x"""

    def logical_or(
        self,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a or b"""

    def mask(
        self,
        x: Operand,
        mask: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x where visible, −∞ where hidden"""

    def matmul(
        self,
        a: Operand,
        b: Operand,
        *,
        absorb_zeros: bool = False,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y[i, j] = Σₖ a[i, k] · b[k, j]"""

    def multi_head(
        self,
        q: Operand,
        k: Operand,
        v: Operand,
        mask: Operand | None = None,
        w_q: Operand | None = None,
        b_q: Operand | None = None,
        w_k: Operand | None = None,
        b_k: Operand | None = None,
        w_v: Operand | None = None,
        b_v: Operand | None = None,
        w_o: Operand | None = None,
        b_o: Operand | None = None,
        bias: Operand | None = None,
        past_k: Operand | None = None,
        past_v: Operand | None = None,
        appended_k: Operand | None = None,
        appended_v: Operand | None = None,
        gamma_q: Operand | None = None,
        gamma_k: Operand | None = None,
        cos: Operand | None = None,
        sin: Operand | None = None,
        sink: Operand | None = None,
        *,
        heads: int,
        causal: bool = False,
        offset: int = 0,
        window: Sequence[Any] | None = None,
        scale: float | str | None = None,
        softcap: float | str | None = None,
        empty: str = "zero",
        kv_heads: int | None = None,
        masks_by_head: bool = False,
        zero_key: bool = False,
        rotary: float | str | None = None,
        rotary_pairs: int | None = None,
        interleaved: bool = False,
        eps_qk: float | str = "1e-05",
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """concat(attention per head)"""

    def multiply(
        self,
        a: Operand,
        b: Operand,
        *,
        absorb_zeros: bool = False,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a · b"""

    def negate(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = −x"""

    def one_hot_argmax(
        self,
        x: Operand,
        *,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = (x is the first of the largest), each row"""

    def pad(
        self,
        x: Operand,
        before: int,
        after: int,
        *,
        axis: int = -1,
        value: float | str | bool = 0,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """x, with cells of one value before and after"""

    def padding_mask(
        self,
        lengths: Operand,
        n: int,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """True where j < length"""

    def positional_encoding(
        self,
        n: int,
        d: int,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """sin or cos of p / 10000^(2i/d)"""

    def reduce_max(
        self,
        x: Operand,
        *,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = max x"""

    def reduce_mean(
        self,
        x: Operand,
        *,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = Σ x / n"""

    def reduce_sum(
        self,
        x: Operand,
        *,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = Σ x"""

    def relu(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = max(x, 0)"""

    def repeat(
        self,
        x: Operand,
        times: int,
        *,
        axis: int,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y[i] = x[i // times]"""

    def reshape(
        self,
        x: Operand,
        shape: Sequence[Any],
        *,
        axes: Sequence[Any] | None = None,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """the same cells in row-major order"""

    def rmsnorm(
        self,
        x: Operand,
        gamma: Operand | None = None,
        *,
        eps: float | str = 1e-05,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """x / √(mean(x²) + eps), each row"""

    def rope(
        self,
        x: Operand,
        cos: Operand,
        sin: Operand,
        *,
        interleaved: bool = False,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """(cos · a − sin · b, sin · a + cos · b), each pair"""

    def rope_angles(
        self,
        n: int,
        d: int,
        *,
        base: float | str = 10000,
        offset: int = 0,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensors:
        """cos and sin of p / base^(2i/d)"""

    def scale(
        self,
        x: Operand,
        *,
        sqrt: float | None = None,
        divide: float | str | None = None,
        multiply: float | str | None = None,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x / √s, x / s or x · s"""

    def scatter_add(
        self,
        x: Operand,
        ids: Operand,
        *,
        rows: int,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y[r] = Σ x[…] where ids[…] = r"""

    def sigmoid(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = 1 / (1 + exp(−x))"""

    def silu(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x / (1 + exp(−x))"""

    def sin(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = sin x"""

    def slice(
        self,
        x: Operand,
        at: str,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = x[at]"""

    def softcap(
        self,
        x: Operand,
        *,
        cap: float | str,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = cap · tanh(x / cap)"""

    def softmax(
        self,
        x: Operand,
        *,
        axis: int = -1,
        empty: str = "zero",
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """exp(x − max) / Σ exp(x − max), each row"""

    def split(
        self,
        x: Operand,
        parts: int | Sequence[Any],
        *,
        axis: int = -1,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensors:
        """consecutive pieces of an axis"""

    def sqrt(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = √x"""

    def stack(
        self,
        *xs: Operand,
        axis: int = 0,
        axis_name: str | None = None,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y[i] = xs[i]"""

    def subtract(
        self,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a − b"""

    def tanh(
        self,
        x: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = tanh x"""

    def transpose(
        self,
        x: Operand,
        *,
        perm: Sequence[Any] | None = None,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y[j, i] = x[i, j]"""

    def trilu(
        self,
        x: Operand,
        *,
        k: int = 0,
        upper: bool = True,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """x on one side of a diagonal, 0 on the other"""

    def where(
        self,
        condition: Operand,
        a: Operand,
        b: Operand,
        *,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """y = a if condition else b"""

    def window_mask(
        self,
        n: int,
        n_k: int | None = None,
        *,
        left: int | None = None,
        right: int | None = None,
        offset: int = 0,
        name: str | None = None,
        title: str | None = None,
    ) -> Tensor:
        """True where i + offset − left ≤ j ≤ i + offset + right"""
