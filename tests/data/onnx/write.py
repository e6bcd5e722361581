"""Writes the models of this folder: what torch.onnx.export makes of small random BERT, GPT-2, Llama and
TransformerEncoderLayer, by both of its exporters. Written once, with torch 2.13, transformers and onnxscript:

    python tests/data/onnx/write.py

The exporter's stack traces are left out, which are most of a file; the scopes in its metadata stay.
"""

from pathlib import Path

import onnx
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model, LlamaConfig, LlamaModel

HERE = Path(__file__).parent
KEPT = ("namespace", "pkg.torch.onnx.name_scopes")
SIZES = {"vocab_size": 24, "bos_token_id": 0, "eos_token_id": 1}
torch.backends.mha.set_fastpath_enabled(False)


class Layer(torch.nn.Module):
    """An encoder layer that is called with nothing but its input."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, src):
        return self.layer(src)


class Hidden(torch.nn.Module):
    """A model of transformers, and of its results the last hidden state."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).last_hidden_state


def transformer(kind, config, attention):
    model = kind(config)
    model.set_attn_implementation(attention)
    return Hidden(model)


def models():
    """name, module, whether by the newer exporter."""
    bert = BertConfig(
        vocab_size=24, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=12,
    )  # fmt: skip
    gpt2 = GPT2Config(**SIZES, n_embd=8, n_layer=2, n_head=2, n_positions=12, n_inner=12)
    llama = LlamaConfig(
        **SIZES, hidden_size=8, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=12, max_position_embeddings=12,
    )  # fmt: skip
    for new in (True, False):
        yield "bert", transformer(BertModel, bert, "sdpa" if new else "eager"), new
        yield "gpt2", transformer(GPT2Model, gpt2, "eager" if new else "sdpa"), new
        yield "llama", transformer(LlamaModel, llama, "sdpa" if new else "eager"), new
        yield "encoder", Layer(torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)), new


def write():
    ids, mask = torch.tensor([[3, 1, 4, 1, 5]]), torch.tensor([[1, 1, 1, 1, 0]])
    for name, module, new in models():
        torch.manual_seed(len(name))
        module.eval()
        for parameter in module.parameters():
            torch.nn.init.normal_(parameter, 0.0, 0.3)
        path = HERE / f"{name}_{'dynamo' if new else 'script'}.onnx"
        path.unlink(missing_ok=True)
        arguments = (torch.randn(1, 5, 8),) if name == "encoder" else (ids, mask)
        names = ["src"] if name == "encoder" else ["input_ids", "attention_mask"]
        options = {}
        if name != "encoder":
            sizes = {0: "batch", 1: "sequence"}
            options["dynamic_shapes" if new else "dynamic_axes"] = dict.fromkeys(names, sizes)
        torch.onnx.export(
            module, arguments, str(path), dynamo=new, input_names=names, external_data=False,
            output_names=["hidden"], **({"verbose": False} if new else {"opset_version": 17}), **options,
        )  # fmt: skip
        model = onnx.load(path)
        del model.metadata_props[:]
        for held in (model.graph.node, model.graph.value_info, model.graph.input, model.graph.output,
                     model.graph.initializer, [model.graph]):  # fmt: skip
            for item in held:
                kept = [pair for pair in item.metadata_props if pair.key in KEPT]
                del item.metadata_props[:]
                item.metadata_props.extend(kept)
                if hasattr(item, "doc_string"):
                    item.doc_string = ""
        onnx.save(model, path)
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    write()
