"""Write the small random models of this folder, and what transformers computes with them in float64.

    python tests/data/models/write.py [FAMILY ...]        (needs torch and transformers; run once)

Each family's folder gets config.json, model.safetensors and expected.json: token ids, every hidden state,
every attention map, and the logits where there are any. Llama's kin compute parts in float32 in transformers
(rotary angles, softmax, RMSNorm); here float32 is float64 for them.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).parent
BERT = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 12, "max_position_embeddings": 12,
}  # fmt: skip
LLAMA = BERT | {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
SCALED = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
DISTIL = {
    "vocab_size": 20, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12,
    "max_position_embeddings": 12,
}  # fmt: skip
PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
GEMMA = {
    "head_dim": 4, "sliding_window": 3, "query_pre_attn_scalar": 6,
    "attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0,
}  # fmt: skip
GEMMA3 = GEMMA | {"attn_logit_softcapping": None, "num_hidden_layers": 3, "rope_parameters": {
    "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
}, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}  # fmt: skip
PHI3 = {
    "sliding_window": 3, "pad_token_id": 0, "original_max_position_embeddings": 16,
    "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.1, 1.3], "long_factor": [2.0, 3.0],
    },
}  # fmt: skip
OPT = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 12,
    "max_position_embeddings": 12,
}  # fmt: skip
GPT_NEO = {
    "vocab_size": 20, "hidden_size": 8, "num_layers": 2, "num_heads": 2, "window_size": 3,
    "max_position_embeddings": 12, "attention_types": [[["global", "local"], 1]],
}  # fmt: skip
GPT2 = {"vocab_size": 20, "n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 12}
MODELS = {
    "bert": ("BertModel", "BertConfig", BERT),
    "roberta": ("RobertaModel", "RobertaConfig", BERT | {"pad_token_id": 1}),
    "distilbert": ("DistilBertModel", "DistilBertConfig", DISTIL),
    "albert": ("AlbertModel", "AlbertConfig", BERT | {"embedding_size": 6, "hidden_act": "gelu_new"}),
    "electra": ("ElectraModel", "ElectraConfig", BERT | {"embedding_size": 6}),
    "mpnet": ("MPNetModel", "MPNetConfig", BERT | {"max_position_embeddings": 14}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", BERT | {"hidden_size": 16, "rope_parameters": PARTIAL}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", LLAMA | {"rope_parameters": SCALED, "head_dim": 4}),
    "mistral": ("MistralForCausalLM", "MistralConfig", LLAMA | {"sliding_window": 3}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", LLAMA | {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", LLAMA | {"head_dim": 4}),
    "opt": ("OPTForCausalLM", "OPTConfig", OPT),
    "gpt_neo": ("GPTNeoForCausalLM", "GPTNeoConfig", GPT_NEO),
    "phi": ("PhiForCausalLM", "PhiConfig", BERT | {"hidden_size": 16}),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", LLAMA | {"hidden_size": 16} | PHI3),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", LLAMA | {"head_dim": 4}),
    "gemma3_text": ("Gemma3ForCausalLM", "Gemma3TextConfig", LLAMA | GEMMA3),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", LLAMA | GEMMA),
}
IDS = [2, 7, 5, 7, 11, 3]


def write(family: str) -> None:
    kind, config_kind, settings = MODELS[family]
    torch.manual_seed(sum(map(ord, family)))
    config = getattr(transformers, config_kind)(**settings)
    model = getattr(transformers, kind)(config)
    with torch.no_grad():
        for name, tensor in model.named_parameters():  # norms that start as 1 and 0 would hide mistakes
            noise = torch.randn_like(tensor) * (0.2 if tensor.dim() == 1 else 0.35)
            tensor.copy_(tensor + noise if "norm" in name.lower() and tensor.dim() == 1 else noise)
    folder = HERE / family
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    for extra in ("generation_config.json",):
        (folder / extra).unlink(missing_ok=True)

    loading = {"dtype": torch.float64, "attn_implementation": "eager"}
    model = getattr(transformers, kind).from_pretrained(folder, **loading).eval()
    single, narrow = torch.float32, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        for module in model.modules():
            if any(name.endswith("inv_freq") for name, _ in module.named_buffers(recurse=False)):
                module.__init__(config)
        with torch.no_grad():
            out = model(torch.tensor([IDS]), output_hidden_states=True, output_attentions=True)
    finally:
        torch.float32 = torch.float = single
        torch.Tensor.float = narrow
    expected = {
        "written by": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "ids": IDS,
        "hidden_states": [h[0].tolist() for h in out.hidden_states],
        "attentions": [a[0].tolist() for a in out.attentions],
    }
    assert out.hidden_states[0].dtype == torch.float64
    if "logits" in out:
        expected["logits"] = out.logits[0].tolist()
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")
    print(family, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


for family in sys.argv[1:] or MODELS:
    write(family)
