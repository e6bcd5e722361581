"""config.json, read key by key: what nobody asks for and nobody knows is refused by name.

A family asks for each setting with the default that transformers has for it (files leave out what is as
usual). `finish` then refuses keys that were not asked for, unless they are known not to change the
arithmetic, or say nothing (null, false, an empty list). So a switch that a family does not know can never
be ignored.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ..core import nested
from ..core.errors import GraphError, suggest

_HARMLESS = """
_attn_implementation _attn_implementation_autoset _commit_hash _flash_attn_2_enabled _name_or_path
_num_labels activation_dropout adapters architectures attention_dropout attention_probs_dropout_prob
attn_pdrop auto_map bad_words_ids begin_suppress_tokens bos_token_id cache_implementation
chunk_size_feed_forward classifier_activation classifier_dropout classifier_dropout_prob
custom_pipelines decoder_start_token_id directionality diversity_penalty do_sample dropout dtype
early_stopping embd_pdrop embed_dropout encoder_no_repeat_ngram_size eos_token_id eos_token_ids
exponential_decay_length_penalty finetuning_task forced_bos_token_id forced_eos_token_id
generation_config gradient_checkpointing hidden_dropout hidden_dropout_prob id2label init_std
initializer_factor initializer_range is_llama_config keys_to_ignore_at_inference label2id language
layerdrop layers_pruned length_penalty max_length max_new_tokens max_sequence_length mem_efficient
min_length model_max_length model_type n_special net_structure_type no_repeat_ngram_size
num_beam_groups num_beams num_labels num_return_sequences output_attentions output_hidden_states
output_past output_scores pad_token_id pooler_fc_size pooler_num_attention_heads
pooler_num_fc_layers pooler_size_per_head pooler_type predict_special_tokens prefix pretraining_tp
problem_type qa_dropout remove_invalid_values reorder_and_upcast_attn repetition_penalty
resid_dropout resid_pdrop return_dict return_dict_in_generate sbert_ce_default_activation_function
sentence_transformers sep_token_id seq_classif_dropout summary_activation summary_first_dropout
summary_last_dropout summary_proj_to_labels summary_type summary_use_proj suppress_tokens
task_specific_params temperature tf_legacy_loss tie_weights_ tie_word_embeddings tokenizer_class
top_k top_p torch_dtype torchscript transformers.js_config transformers_version typical_p
unsloth_fixed unsloth_version use_bfloat16 use_cache use_return_dict vocab_type xla_device
"""
HARMLESS = frozenset(_HARMLESS.split())
"""Keys that do not change what a trained model computes for a sentence."""

SIZE_LIMIT = 2**24
LARGEST = sys.float_info.max


class Config:
    """The settings of a model; `where` names the file in messages."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where
        self._asked: set[str] = set()
        self._parts: list[Config] = []

    def part(self, name: str, values: Mapping[str, Any]) -> Config:
        """Settings that stand together in it, refused with it."""
        self._parts.append(Config(values, f"{self.where}: {name}"))
        return self._parts[-1]

    def get(self, key: str, default: Any = None) -> Any:
        """A setting as it stands in the file; null counts as left out."""
        self._asked.add(key)
        value = self.values.get(key)
        return default if value is None else value

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number of 1 or more."""
        value = self.get(key, default)
        if type(value) is not int or not 0 < value <= SIZE_LIMIT:
            raise self.wrong(key, value, f"a whole number from 1 to {SIZE_LIMIT:,}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number above 0."""
        value = self.get(key, default)
        if type(value) not in (int, float) or not 0 < value <= LARGEST:
            raise self.wrong(key, value, "a number above 0")
        return value

    def numbers(self, key: str, count: int) -> list[float]:
        """So many finite numbers above 0."""
        value = self.get(key)
        fine = isinstance(value, list) and all(type(n) in (int, float) and 0 < n <= LARGEST for n in value)
        if not fine or len(value) != count:
            raise self.wrong(key, value, f"a list of {count} numbers above 0")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or False."""
        value = self.get(key, default)
        if type(value) is not bool:
            raise self.wrong(key, value, "true or false")
        return value

    def choice(self, key: str, choices: Mapping[str, Any], default: str | None = None) -> Any:
        """What one of the names in `choices` stands for."""
        value = self.get(key, default)
        if not isinstance(value, str) or value not in choices:
            hint = suggest(value, choices) if isinstance(value, str) else ""
            raise self.wrong(key, value, f"one of {', '.join(choices)}{hint}")
        return choices[value]

    def need(self, key: str, expected: Any, default: Any = None) -> None:
        """Refuse a setting that is another than the one that we know how to compute."""
        value = self.get(key, expected if default is None else default)
        if value != expected or type(value) is not type(expected):
            raise self.wrong(key, value, f"{expected!r}: nothing else is known here")

    def wrong(self, key: str, value: Any, expected: str) -> GraphError:
        return GraphError(f"{self.where}: {key} is {nested.shown(value)}; expected {expected}")

    def finish(self, ignore: Iterable[str] = ()) -> None:
        """Refuse what nobody asked for and nobody knows."""
        known = self._asked | HARMLESS | set(ignore)
        for key, value in self.values.items():
            if key not in known and value not in (None, False, [], {}, ""):
                raise GraphError(
                    f"{self.where}: {key} = {nested.shown(value)} is not known for this family, and may"
                    f" change what is computed; expected none{suggest(key, self._asked)}"
                    f" (ignore={[key]!r} leaves it out)"
                )
        for part in self._parts:
            part.finish(ignore)
