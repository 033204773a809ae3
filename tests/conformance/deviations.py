"""The intended differences: each mends the peer's rendering, and only then ours must equal it.

A deviation is a function that gives back (ours, theirs) with its one difference taken away, or the
same two where it does not apply. Its id is listed in deviations.yaml with the rule that it follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from recipes_core.configuration import Configuration
from recipes_core.flags import Arguments, Provenance, parse_args

from .compare import Pair, words
from .rows import Row

NOWHERE = Provenance("", "", "")
Both = tuple[Any, Any]


def _as_words(value: Any) -> Any:
    return words(value) if isinstance(value, str) else value


def _flags_start(argv: list[str]) -> int:
    return next((n for n, word in enumerate(argv) if word.startswith("-")), len(argv))


def _engine_start(argv: list[str]) -> int:
    """Where the engine's own flags begin: behind ``vllm serve MODEL`` or ``IMAGE MODEL``."""
    if argv[:2] == ["vllm", "serve"]:
        return 3
    if argv[:2] == ["docker", "run"]:
        number = 2
        while number < len(argv):
            word = argv[number]
            if not word.startswith("-"):
                return number + 2
            number += 2 if word in _DOCKER_VALUES else 1
    return _flags_start(argv)


_DOCKER_VALUES = {
    "--gpus", "-p", "-v", "-e", "--device", "--security-opt", "--group-add", "--network",
}  # fmt: skip


def exclusive_features(row: Row, config: Configuration, pair: Pair) -> Both:
    features = row["in"].get("features") or []
    if not {"text_only", "encoder_parallel"} <= set(features):
        return pair.ours, pair.theirs
    feature = config.recipe.features["encoder_parallel"]
    args = [feature.args, *(o.args for o in feature.hardware_overrides.values())]
    names = {flag.name for words_ in args for flag in parse_args(words_)}

    def without(value: Any) -> Any:
        argv = _as_words(value)
        if not isinstance(argv, list) or not argv or not isinstance(argv[0], str):
            return value
        start = _engine_start(argv)
        kept = [w for f in parse_args(argv[start:]) if f.name not in names for w in f.tokens]
        return argv[:start] + kept

    return without(pair.ours), without(pair.theirs)


def split_items(row: Row, config: Configuration, pair: Pair) -> Both:
    theirs = _as_words(pair.theirs)
    if not isinstance(theirs, list) or not any("--max-model-len" in str(w) for w in theirs):
        return pair.ours, pair.theirs
    start = _engine_start(theirs)
    merged = Arguments()
    merged.add(tuple(theirs[start:]), NOWHERE)
    return _as_words(pair.ours), theirs[:start] + merged.words()


def half_node_dep(row: Row, config: Configuration, pair: Pair) -> Both:
    asked = row["in"]
    if asked.get("strategy") != "pd_cluster" or asked["pd"] is not None:
        return pair.ours, pair.theirs
    half, whole = config.node.gpu_count // 2, config.node.gpu_count
    theirs = _as_words(pair.theirs)
    if not isinstance(theirs, list):
        return pair.ours, pair.theirs
    sizes = {
        "--data-parallel-size", "--data-parallel-size-local", "--intra-node-data-parallel-size",
    }  # fmt: skip
    mended = [
        str(int(word) * half // whole) if before in sizes and int(word) > 1 else word
        for before, word in zip(["", *theirs], theirs, strict=False)
    ]
    return _as_words(pair.ours), mended


SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"


def side_channel(row: Row, config: Configuration, pair: Pair) -> Both:
    asked = row["in"]
    if asked.get("strategy") != "pd_cluster" or asked["pd"] is not None:
        return pair.ours, pair.theirs
    if config.pools["prefill"].mode != "dep":
        return pair.ours, pair.theirs
    free = str(5557 + config.node.gpu_count // 2)
    theirs = pair.theirs
    if isinstance(theirs, dict) and str(theirs.get(SIDE_CHANNEL)) == "5558":
        theirs = theirs | {SIDE_CHANNEL: free}
    elif not isinstance(theirs, dict):
        theirs = [
            word.replace(f"{SIDE_CHANNEL}=5558", f"{SIDE_CHANNEL}={free}")
            for word in _as_words(theirs) or ()
        ] or theirs
    return pair.ours, theirs


def tpu_container(row: Row, config: Configuration, pair: Pair) -> Both:
    if config.profile.generation != "tpu" or "docker" not in pair.field:
        return pair.ours, pair.theirs
    return pair.ours, re.sub(r"--privileged --ipc=host -p \d+:\d+", "--ipc=host", pair.theirs)


def ascend_devices(row: Row, config: Configuration, pair: Pair) -> Both:
    if config.profile.generation != "npu" or "docker" not in pair.field:
        return pair.ours, pair.theirs
    ours = re.sub(
        r"^docker run .*?(?=--privileged)",
        "docker run --gpus all \\\\\n  ",
        pair.ours,
        flags=re.S,
    )
    return ours.replace(" vllm serve ", " ", 1), pair.theirs


def host_network(row: Row, config: Configuration, pair: Pair) -> Both:
    if "docker" not in pair.field or row["out"]["deploy_type"] not in {"multi_node", "pd_cluster"}:
        return pair.ours, pair.theirs
    return pair.ours, re.sub(r"-p \d+:\d+", "--network host", pair.theirs)


def image_name(row: Row, config: Configuration, pair: Pair) -> Both:
    if "docker" not in pair.field or not isinstance(pair.theirs, str):
        return pair.ours, pair.theirs
    return pair.ours, pair.theirs.replace("docker pull ", "", 1)


def worker_urls(row: Row, config: Configuration, pair: Pair) -> Both:
    if pair.field != "router" or not pair.theirs or "--backend-url" not in pair.theirs:
        return pair.ours, pair.theirs
    theirs = _as_words(pair.theirs)
    first = theirs.index("--backend-url")
    left = [word for word in theirs if word != "--backend-url"]
    return pair.ours, [*left[:first], "--worker-urls", *left[first:]]


ORDER: dict[str, Callable[[Row, Configuration, Pair], Both]] = {
    "tpu-container": tpu_container,
    "ascend-devices": ascend_devices,
    "host-network": host_network,
    "image-name": image_name,
    "worker-urls": worker_urls,
    "half-node-dep": half_node_dep,
    "side-channel": side_channel,
    "split-items": split_items,
    "exclusive-features": exclusive_features,
}


def same_arguments(pair: Pair) -> bool:
    """Whether two texts are the same arguments, however they are broken into lines.

    The command and the container of a single node are the peer's exact text, so there the lines
    count too.
    """
    if pair.field.endswith(" text") and isinstance(pair.ours, str) and isinstance(pair.theirs, str):
        return pair.ours == pair.theirs
    return pair.ours == pair.theirs or bool(_as_words(pair.ours) == _as_words(pair.theirs))


def explain(row: Row, config: Configuration, pair: Pair) -> set[str] | None:
    """The deviations that make a pair equal; None where they do not."""
    used: set[str] = set()
    for name, mend in ORDER.items():
        ours, theirs = mend(row, config, pair)
        same = (_as_words(ours), _as_words(theirs)) == (
            _as_words(pair.ours), _as_words(pair.theirs)
        )  # fmt: skip
        if not same:
            used.add(name)
            pair = Pair(pair.field, ours, theirs)
        if same_arguments(pair):
            return used
    return None
