"""Write rope.json: the rates at which transformers turns the features of a head, in float64.

    python tests/data/models/write_rope.py        (needs torch and transformers; run once)

For each scaling: the settings, a number of tokens, the rates, and what cos and sin are multiplied by.
"""

import json
from pathlib import Path

import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SIZES = {"hidden_size": 64, "num_attention_heads": 2, "max_position_embeddings": 64}
LISTS = {
    "short_factor": [1.0 + i / 8 for i in range(16)],
    "long_factor": [1.0 + i * i / 4 for i in range(16)],
}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LONG = {"rope_type": "longrope", "original_max_position_embeddings": 16, **LISTS}
CASES = [
    ({"rope_type": "linear", "factor": 2.5}, 9),
    ({"rope_type": "dynamic", "factor": 4.0}, 9),
    ({"rope_type": "dynamic", "factor": 4.0}, 100),
    ({**LLAMA3, "original_max_position_embeddings": 32}, 9),
    (LLAMA3, 9),
    (YARN, 9),
    ({**YARN, "rope_theta": 500.0, "beta_fast": 4, "beta_slow": 0.5}, 9),
    ({**YARN, "truncate": False}, 9),
    ({**YARN, "mscale": 0.7, "mscale_all_dim": 1.3}, 9),
    ({**YARN, "mscale": 0.7}, 9),
    ({**YARN, "attention_factor": 1.25, "factor": 1.0}, 9),
    ({"rope_type": "yarn", "factor": 16.0}, 9),
    (LONG, 16),
    (LONG, 17),
    ({**LONG, "factor": 2.0, "rope_theta": 1e6}, 9),
    ({**LONG, "attention_factor": 1.5}, 9),
]

torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double
found = []
for settings, tokens in CASES:
    given = {"rope_theta": 10000.0, **settings}
    config = transformers.LlamaConfig(**SIZES, rope_parameters=dict(given))
    rates, size = ROPE_INIT_FUNCTIONS[given["rope_type"]](config, None, seq_len=tokens)
    assert rates.dtype == torch.float64
    found.append({"settings": given, "tokens": tokens, "rates": rates.tolist(), "size": size})
told = {"written by": f"transformers {transformers.__version__}", **SIZES, "cases": found}
path = Path(__file__).parent / "rope.json"
path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
