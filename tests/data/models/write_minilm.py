"""Write what transformers computes of all-MiniLM-L6-v2 in float64: all attention maps of the five sentences.

    python tests/data/models/write_minilm.py FOLDER        (needs torch and transformers; run once)

minilm_attentions.safetensors holds `sentence0.layer0`, …, each heads × queries × keys. The sentences and their
embeddings stand in minilm_embeddings.json.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer, BertModel

HERE = Path(__file__).parent


def main(folder: str) -> None:
    sentences = json.loads((HERE / "minilm_embeddings.json").read_text(encoding="utf-8"))["sentences"]
    model = BertModel.from_pretrained(folder, attn_implementation="eager").double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = {}
    for i, sentence in enumerate(sentences):
        with torch.no_grad():
            output = model(**tokenizer(sentence["text"], return_tensors="pt"), output_attentions=True)
        for layer, maps in enumerate(output.attentions):
            found[f"sentence{i}.layer{layer}"] = maps[0].contiguous()
    save_file(found, HERE / "minilm_attentions.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
