"""Data of random words in the formats that the scripts read: nobody publishes the CI's own, and memory does not depend on the words."""

import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

_MAGIC, _INT32 = b"MMIDIDX\x00\x00", 4
_PACKED = (1024, 2048, 4096, 8192)  # the lengths to which fine-tuning packs sequences
VOCABULARIES = {
    **{"llama-2-7b-hf": 32000, "llama3": 128256, "qwen2.5": 151665, "qwen3": 151669, "baichuan2": 125696, "chatglm3": 64798},
    **{"glm4": 151343, "gemma2": 256000, "internlm3": 128512, "mistral": 32000, "mamba": 50277, "gpt2": 50257},
    **{"seed_oss": 155136, "bloom": 250680, "deepseek": 100015},
}
# The vocabulary of a model whose name, or whose tokenizer's path, matches.
MODELS = (
    *(("qwen3", "qwen3"), ("qwen", "qwen2.5"), ("llama-?3", "llama3"), ("llama", "llama-2-7b-hf"), ("baichuan", "baichuan2")),
    *(("chatglm", "chatglm3"), ("glm", "glm4"), ("gemma", "gemma2"), ("internlm|interlm", "internlm3")),
    *(("mixtral|mistral", "mistral"), ("mamba", "mamba"), ("gpt", "gpt2"), ("seed", "seed_oss"), ("bloom", "bloom")),
    *(("deepseek", "deepseek"), (".", "mistral")),  # the published memory of minicpm and grok is that with 32,000 words
)


def make(folder: Path) -> None:
    """Write all of it into a folder, unless it is there."""
    if folder.exists():
        return
    unfinished = folder.with_suffix(".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    _write(unfinished / "text_document", (generator.integers(10, 30000, 1200) for _ in range(30000)))
    _make_tuning(unfinished, generator)
    for length in _PACKED:
        _make_packed(unfinished, generator, length)
    for name, words in VOCABULARIES.items():
        _make_tokenizer(unfinished / "tokenizer" / name, words)
    unfinished.rename(folder)


def _write(prefix: Path, documents: Iterable[Any]) -> None:
    """Write Megatron's indexed format: words in .bin, lengths, offsets and ends of documents in .idx, all int32."""
    lengths = []
    with prefix.with_suffix(".bin").open("wb") as words:
        for document in documents:
            words.write(np.asarray(document, np.int32).tobytes())
            lengths.append(len(document))
    sizes = np.array(lengths, np.int32)
    offsets = np.concatenate([[0], np.cumsum(sizes[:-1].astype(np.int64) * 4)]).astype(np.int64)
    header = _MAGIC + struct.pack("<QBQQ", 1, _INT32, len(sizes), len(sizes) + 1)
    prefix.with_suffix(".idx").write_bytes(
        header + sizes.tobytes() + offsets.tobytes() + np.arange(len(sizes) + 1, dtype=np.int64).tobytes()
    )


def _make_tuning(folder: Path, generator: np.random.Generator) -> None:
    """Make questions with answers, and pairs of a better and a worse one."""
    words = [generator.integers(10, 30000, length) for length in generator.integers(60, 400, 6000)]
    answers = [np.where(np.arange(len(one)) < len(one) // 2, -100, one) for one in words]
    columns = {"input_ids": words, "labels": answers, "attention_mask": [np.ones(len(one)) for one in words]}
    for name, column in columns.items():
        _write(folder / f"tune_packed_{name}_document", column)
    for kind in ("chosen", "rejected"):
        _write(folder / f"pair_packed_{kind}_input_ids_document", words)
        _write(folder / f"pair_packed_{kind}_labels_document", answers)


def _make_packed(folder: Path, generator: np.random.Generator, length: int) -> None:
    """Make sequences packed from samples to a length; the mask has the number of each position's sample."""
    columns: dict[str, list[Any]] = {"input_ids": [], "attention_mask": [], "labels": []}
    for _ in range(600):
        ends = np.sort(generator.choice(np.arange(60, length - 60), max(1, length // 350), replace=False))
        words = generator.integers(10, 30000, length)
        words[[*(ends - 1), -1]] = 2
        columns["input_ids"].append(words)
        columns["attention_mask"].append(np.searchsorted(ends, np.arange(length), side="right") + 1)
        columns["labels"].append(np.where(generator.random(length) < 0.5, -100, words))
    for name, column in columns.items():
        _write(folder / f"pack{length}_packed_{name}_document", column)


def _make_tokenizer(folder: Path, words: int) -> None:
    """Make a tokenizer for transformers with that many words."""
    folder.mkdir(parents=True, exist_ok=True)
    special = ["<unk>", "<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    vocabulary = {word: number for number, word in enumerate([*special, *(f"w{number}" for number in range(len(special), words))])}
    kinds = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": number, "content": word, **kinds} for number, word in enumerate(special)]
    steps = {"normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, **steps, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    tokens = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **tokens}))
