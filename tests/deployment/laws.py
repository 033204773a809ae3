"""What must hold for the processes around an engine, whichever they are."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from urllib.parse import urlsplit

from recipes_core.deployment import Deployment, Process
from recipes_core.deployment.names import placeholders_in
from recipes_core.flags import APPEND, parse_args
from recipes_core.render.shell import docker_argv

ENDPOINT_FLAGS = ("--prefill", "--decode", "--worker-urls")


def check_all(deployment: Deployment) -> None:
    """Every law of this module."""
    check_one_command_a_node(deployment)
    check_endpoints(deployment)
    check_ports(deployment)
    check_placeholders(deployment)
    check_one_spelling(deployment)
    check_environment(deployment)
    check_docker_argv(deployment)
    check_json(deployment)


def machine_of(deployment: Deployment, process: Process) -> tuple[object, int]:
    """What tells the machine of an engine's process from the others."""
    pools = deployment.configuration.pools
    shared = bool(pools) and all(pool.nodes == 0 for pool in pools.values())
    return (None if shared else (process.pool, process.instance), process.node)


def check_one_command_a_node(deployment: Deployment) -> None:
    config = deployment.configuration
    engines = [process for process in deployment.processes if process.is_engine]
    names = Counter(process.name for process in deployment.processes)
    assert set(names.values()) == {1}, names
    found = Counter((process.pool, process.instance, process.node) for process in engines)
    assert set(found.values()) == {1}, found
    if config.pools:
        wanted = {
            (role, None, node)
            for role, pool in config.pools.items()
            for node in range(max(1, pool.nodes))
        }
    else:
        instances = range(config.kv_instances) if config.kv_instances else [None]
        wanted = {(None, one, node) for one in instances for node in range(config.nodes)}
    assert set(found) == wanted
    ranks = defaultdict(set)
    for process in engines:
        ranks[process.pool, process.instance].add(tuple(process.argv))
    for key, commands in ranks.items():
        nodes = sum(1 for p in engines if (p.pool, p.instance) == key)
        assert len(commands) == nodes, f"{key}: {nodes} nodes, {len(commands)} different commands"


def value_of(process: Process, name: str) -> str | None:
    return next((f.values[0] for f in parse_args(process.argv) if f.name == name), None)


def has(process: Process, name: str) -> bool:
    return any(f.name == name and not f.negated for f in parse_args(process.argv))


def serves(process: Process) -> bool:
    """Whether an engine's process has an API server of its own.

    A headless one has none. A follower of a data-parallel engine has one under hybrid load
    balancing; without, the head answers for its ranks.
    """
    if has(process, "--headless"):
        return False
    if has(process, "--data-parallel-start-rank") and process.node:
        return has(process, "--data-parallel-hybrid-lb")
    return True


def address_of(deployment: Deployment, process: Process) -> set[str]:
    """The hosts under which a router may know an engine's process."""
    if process.pool is not None:
        return {f"${process.pool.upper()}_NODE_{process.node + 1}"}
    if process.instance is not None and deployment.configuration.kv_instances != 1:
        return {f"$VLLM_INSTANCE_{process.instance + 1}"}
    if process.node:
        return {f"$WORKER_{process.node}_IP"}
    return {"$HEAD_IP"} if deployment.configuration.nodes > 1 else {"localhost"}


def endpoints_of(deployment: Deployment) -> list[str] | None:
    """The addresses that the router is told; None where there is no router."""
    router = next((p for p in deployment.processes if p.role == "router"), None)
    if router is None:
        return None
    found = [
        value
        for flag in parse_args(router.argv)
        if flag.name in ENDPOINT_FLAGS
        for value in flag.values
    ]
    register = next((p for p in deployment.processes if p.name == "register"), None)
    if register is not None:
        bodies = re.findall(
            r"-d '(\{.*\})'$", (register.text or "").replace("'\"", "").replace("\"'", ""), re.M
        )
        found += [json.loads(body)["url"] for body in bodies]
    return found


def check_endpoints(deployment: Deployment) -> None:
    """A router knows the processes that serve, each once and by its port, and no other."""
    found = endpoints_of(deployment)
    if deployment.configuration.kv_instances and not deployment.configuration.pools:
        unreached = any(p.is_engine and p.node and serves(p) for p in deployment.processes)
        all_known = found is not None and deployment.configuration.kv_instances == 1
        said = any(finding.code == "nodes-unreached" for finding in deployment.findings)
        assert said is (unreached and not all_known)
    if found is None:
        assert not deployment.configuration.pools
        return
    engines = [process for process in deployment.processes if process.is_engine]
    wanted = []
    for process in engines:
        if serves(process):
            (host,) = address_of(deployment, process)
            wanted.append(f"http://{host}:{process.port}")
    if (deployment.configuration.kv_instances or 1) > 1:
        firsts = [p for p in engines if p.node == 0]
        wanted = [f"http://$VLLM_INSTANCE_{p.instance + 1}:{p.port}" for p in firsts]  # type: ignore[operator]
    assert sorted(found) == sorted(wanted)


def check_ports(deployment: Deployment) -> None:
    """No two processes on one node bind one port, or a finding says so."""
    bound = defaultdict(list)
    for process in deployment.processes:
        if process.is_engine and process.port is not None and serves(process):
            bound[machine_of(deployment, process), str(process.port)].append(process.name)
        if process.is_engine:
            side = process.env.get("VLLM_NIXL_SIDE_CHANNEL_PORT")
            ranks = process.layout.dp_local if process.layout else 1
            for rank in range(ranks if side is not None else 0):
                port = str(int(side or 0) + rank)
                bound[machine_of(deployment, process), port].append(f"{process.name} NIXL {rank}")
    router = next((p for p in deployment.processes if p.role == "router"), None)
    if router is not None and not deployment.configuration.pools:
        head = next(p for p in deployment.processes if p.is_engine)
        port = value_of(router, "--port")
        if port is not None and (deployment.configuration.kv_instances or 1) == 1:
            bound[machine_of(deployment, head), port].append("router")
    clashes = {key: names for key, names in bound.items() if len(names) > 1}
    said = any(finding.code == "port-clash" for finding in deployment.findings)
    assert bool(clashes) == said or not clashes, clashes


def check_placeholders(deployment: Deployment) -> None:
    """Every placeholder that is used is listed with a hint, and none besides."""
    used = {}
    for process in deployment.processes:
        reader = {
            word
            for flag, source in process.flags
            if source.layer == "reader"
            for word in flag.tokens
        }
        used |= placeholders_in(word for word in process.argv if word not in reader)
        used |= placeholders_in(process.env.values())
        used |= dict.fromkeys(re.findall(r"\$([A-Za-z_]\w*)", process.text or ""))
    for file in deployment.files:
        words = [file.path, *map(str, file.content.values())]
        used |= dict.fromkeys(name for w in words for name in re.findall(r"\$([A-Za-z_]\w*)", w))
    listed = {item.name for item in deployment.placeholders}
    assert listed == set(used)
    assert all(item.hint for item in deployment.placeholders)


def check_one_spelling(deployment: Deployment) -> None:
    for process in deployment.processes:
        if process.text is not None or not process.is_engine:
            continue
        found = Counter(flag.name for flag in parse_args(process.argv[process.first :]))
        twice = {name for name, count in found.items() if count > 1 and name not in APPEND}
        assert not twice, twice
        assert not any(" " in w and w.startswith("--") and "=" not in w for w in process.argv)


def check_environment(deployment: Deployment) -> None:
    for process in deployment.processes:
        for name, value in process.env.items():
            assert re.fullmatch(r"[A-Za-z_]\w*", name), name
            assert isinstance(value, str), (name, value)
            assert value not in {"True", "False", "None"}, (name, value)


def check_docker_argv(deployment: Deployment) -> None:
    """The vector runs without a shell: no ``~`` and no ``$NAME`` of ours in it."""
    for process in deployment.processes:
        without, needs = docker_argv(process)
        assert (
            (without is None) == bool(needs)
            or process.container is None
            or (process.container.image is None)
        )
        given = dict.fromkeys(needs, "given")
        words, left = docker_argv(process, given)
        assert not left
        if words is None:
            continue
        reader = {w for f, source in process.flags if source.layer == "reader" for w in f.tokens}
        for word in words:
            if word in reader:
                continue
            assert not word.startswith("~"), word
            assert ":~" not in word, word
            assert not placeholders_in([word]), word
        assert words.count("--privileged") <= 1
        assert not ("--network" in words and "-p" in words)


def check_json(deployment: Deployment) -> None:
    """Every JSON document inside a flag is one."""
    for process in deployment.processes:
        for flag, source in process.flags:
            for value in flag.values if source.layer != "reader" else ():
                if value[:1] in "{[" and value:
                    json.loads(value)


def router_size(deployment: Deployment) -> str | None:
    router = next((p for p in deployment.processes if p.role == "router"), None)
    return value_of(router, "--intra-node-data-parallel-size") if router else None


def host_of(url: str) -> str:
    return urlsplit(url).netloc
