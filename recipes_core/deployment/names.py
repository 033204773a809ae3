"""Names of the values that a reader has to give, and where a ``$NAME`` in a word is one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import lru_cache

PLACEHOLDER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
BARE = re.compile(r"(?:[A-Za-z0-9_./=:@,+%-]|\$[A-Za-z_][A-Za-z0-9_]*)+")
"""A word that a shell reads as it stands, but for the ``$NAME`` in it."""
HINTS = {
    "HEAD_IP": "address of the head node, as the other nodes reach it",
    "IFACE_NAME": "network interface between the nodes (ip -br addr)",
    "IB_IF": "InfiniBand adapter (ibdev2netdev)",
    "ROUTER_HOST": "address on which the router listens and clients reach it",
    "ROUTER_PORT": "port on which the router listens",
    "PREFILL_DP_RPC_PORT": "free port on the first prefill node, for data-parallel coordination",
    "DECODE_DP_RPC_PORT": "free port on the first decode node, for data-parallel coordination",
    "MOONCAKE_MASTER_IP": "address of the node that runs the Mooncake master",
    "MOONCAKE_CONFIG_PATH": "path of the file for Mooncake clients, the same on each node",
    "MOONCAKE_STORE_CONFIG_PATH": "path of the file for the Mooncake store",
    "MOONCAKE_DEVICE_NAME": (
        "RDMA adapters of the nodes with engines, comma-separated (ibdev2netdev)"
    ),
    "MOONCAKE_STORE_DEVICE_NAME": "RDMA adapters of the node with the store (ibdev2netdev)",
    "HF_CACHE": "folder of downloaded checkpoints",
    "HF_TOKEN": "Hugging Face token",
}
_NUMBERED = (
    (re.compile(r"PREFILL_NODE_(\d+)"), "address of prefill node {}"),
    (re.compile(r"DECODE_NODE_(\d+)"), "address of decode node {}"),
    (re.compile(r"WORKER_(\d+)_IP"), "address of worker {}, as the router reaches it"),
    (re.compile(r"VLLM_INSTANCE_(\d+)"), "address of instance {} (its first node)"),
)


@lru_cache(maxsize=1024)
def known_hint(name: str) -> str | None:
    """What a placeholder of ours stands for; None for a name that is none."""
    if name in HINTS:
        return HINTS[name]
    for pattern, text in _NUMBERED:
        match = pattern.fullmatch(name)
        if match:
            return text.format(match.group(1))
    return None


def hint_of(name: str) -> str:
    """What a placeholder stands for, in one line."""
    return known_hint(name) or f"value of {name}, set by the reader"


@lru_cache(maxsize=8192)
def _in_word(word: str) -> tuple[str, ...]:
    names = PLACEHOLDER.findall(word)
    if BARE.fullmatch(word):
        return tuple(names)
    return tuple(name for name in names if known_hint(name))


def placeholders_in(words: Iterable[str]) -> dict[str, None]:
    """Names of the ``$NAME`` in the words of a command, in order.

    In a word that has to be quoted, such as JSON, only our own names count: ``$ref`` and ``$defs``
    of a schema are its text.
    """
    found: dict[str, None] = {}
    for word in words:
        if "$" in word:
            found.update(dict.fromkeys(_in_word(word)))
    return found


def words_of(text: str) -> list[str]:
    """A command that a recipe writes as text, as the words that a shell would make of it."""
    return list(_split(text))


@lru_cache(maxsize=256)
def _split(text: str) -> tuple[str, ...]:
    return tuple(shlex.split(text.replace("\\\n", " ")))


def names_in_text(texts: Iterable[str]) -> dict[str, None]:
    """Names of every ``$NAME`` that a shell would expand in a text that nobody quotes."""
    found: dict[str, None] = {}
    for text in texts:
        if "$" in text:
            found.update(dict.fromkeys(PLACEHOLDER.findall(text)))
    return found
