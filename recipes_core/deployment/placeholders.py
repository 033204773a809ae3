"""Values that the reader has to give: found in what was rendered, with a hint each."""

from __future__ import annotations

import re

from recipes_core.deployment.model import Deployment, Placeholder, placeholders_in

HINTS = {
    "HEAD_IP": "address of the head node, as the other nodes reach it",
    "IFACE_NAME": "network interface between the nodes (ip -br addr)",
    "IB_IF": "InfiniBand adapter (ibdev2netdev)",
    "ROUTER_HOST": "address on which the router listens, such as 0.0.0.0",
    "ROUTER_PORT": "port on which the router listens",
    "PREFILL_DP_RPC_PORT": "free port on the first prefill node, for data-parallel coordination",
    "DECODE_DP_RPC_PORT": "free port on the first decode node, for data-parallel coordination",
    "MOONCAKE_MASTER_IP": "address of the node that runs the Mooncake master",
    "MOONCAKE_CONFIG_PATH": "path of the Mooncake client's file, the same on each node",
    "MOONCAKE_STORE_CONFIG_PATH": "path of the Mooncake store's file",
    "MOONCAKE_DEVICE_NAME": "RDMA adapters of the engines' nodes, comma-separated (ibdev2netdev)",
    "MOONCAKE_STORE_DEVICE_NAME": "RDMA adapters of the store's node (ibdev2netdev)",
    "HF_CACHE": "folder of downloaded checkpoints",
    "HF_TOKEN": "Hugging Face token",
}
_NUMBERED = (
    (re.compile(r"PREFILL_NODE_(\d+)"), "address of prefill node {}"),
    (re.compile(r"DECODE_NODE_(\d+)"), "address of decode node {}"),
    (re.compile(r"VLLM_INSTANCE_(\d+)"), "address of instance {} (its first node)"),
)


def hint_of(name: str) -> str:
    """What a placeholder stands for, in one line."""
    if name in HINTS:
        return HINTS[name]
    for pattern, text in _NUMBERED:
        match = pattern.fullmatch(name)
        if match:
            return text.format(match.group(1))
    return f"value of {name}, set by the reader"


def find_placeholders(deployment: Deployment) -> list[Placeholder]:
    """Every ``$NAME`` that the processes and files use, in order of use."""
    names: dict[str, None] = {}
    for process in deployment.processes:
        names |= placeholders_in(process.argv[: process.first])
        for flag, source in process.flags:
            if source.layer != "reader":
                names |= placeholders_in(flag.tokens)
        if process.text is not None:
            names |= placeholders_in([process.text])
        names |= placeholders_in(process.env.values())
    for file in deployment.files:
        names |= placeholders_in([file.path, *map(str, file.content.values())])
    given = deployment.values.placeholders
    return [Placeholder(name, hint_of(name), given.get(name)) for name in names]


def fill(deployment: Deployment) -> None:
    """Put the values that the reader gave in the place of their placeholders."""
    given = deployment.values.placeholders
    if not given:
        return
    pattern = re.compile(r"\$(" + "|".join(map(re.escape, given)) + r")(?![A-Za-z0-9_])")

    def put(text: str) -> str:
        return pattern.sub(lambda match: given[match.group(1)], text) if "$" in text else text

    for process in deployment.processes:
        process.argv = [put(word) for word in process.argv]
        process.env = {name: put(value) for name, value in process.env.items()}
        process.flags = [
            (
                flag._replace(
                    tokens=tuple(map(put, flag.tokens)), values=tuple(map(put, flag.values))
                )
                if source.layer != "reader"
                else flag,
                source,
            )
            for flag, source in process.flags
        ]
        if process.text is not None:
            process.text = put(process.text)
        if process.container is not None:
            process.container.volumes = [put(volume) for volume in process.container.volumes]
    deployment.files = [
        file._replace(
            path=put(file.path),
            content={
                key: put(value) if isinstance(value, str) else value
                for key, value in file.content.items()
            },
        )
        for file in deployment.files
    ]
