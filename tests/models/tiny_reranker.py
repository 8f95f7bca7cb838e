"""Write a reranker of a few kilobytes: BERT of one layer with random weights and a ranking head, as GGUF."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_WIDTH, _HEADS, _FORWARD, _CONTEXT = 32, 2, 64, 128
_WORDS = "the a database backup night restore release bread flour tomato sun water dog office".split()


def write(path: Path) -> None:
    from gguf import GGUFWriter

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"▁{word}" for word in _WORDS)]
    writer = GGUFWriter(path, "bert")
    writer.add_name("tiny-reranker")
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(_WIDTH)
    writer.add_feed_forward_length(_FORWARD)
    writer.add_block_count(1)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_uint32("bert.pooling_type", 4)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(words)
    writer.add_token_types([3] * 5 + [1] * len(_WORDS))
    writer.add_token_type_count(2)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(3)
    writer.add_unk_token_id(1)
    writer.add_sep_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_mask_token_id(4)
    random = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, random.normal(0, 0.5, shape).astype(np.float32))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(_WIDTH, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(_WIDTH, np.float32))

    def linear(name: str, out: int, into: int) -> None:
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    add("token_embd.weight", len(words), _WIDTH)
    add("token_types.weight", 2, _WIDTH)
    add("position_embd.weight", _CONTEXT, _WIDTH)
    norm("token_embd_norm")
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        linear(f"blk.0.{part}", _WIDTH, _WIDTH)
    norm("blk.0.attn_output_norm")
    linear("blk.0.ffn_up", _FORWARD, _WIDTH)
    linear("blk.0.ffn_down", _WIDTH, _FORWARD)
    norm("blk.0.layer_output_norm")
    linear("cls", _WIDTH, _WIDTH)
    linear("cls.output", 1, _WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
