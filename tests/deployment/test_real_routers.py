"""The real vllm-router and the real gateway, started as rendered, in front of stand-in engines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from recipes_core.axes import rules_of
from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import Deployment, Process, ReaderValues, deploy
from recipes_core.selection import Selection
from tests.conformance.rows import read_rows, selection_of_row
from tests.conftest import REPO, free_port

from .laws import serves, value_of
from .standin import KV, Engine, ask, first_answer, started
from .synthetic import recipe

sys.path.insert(0, str(REPO / "scripts"))
pytestmark = pytest.mark.slow
ROUTER_HOST = "127.66.0.9"


def environment_of(name: str, package: str) -> Path:
    """The folder of programs of a package's own environment; made in CI, elsewhere asked for."""
    from check_router import environment
    from vllm_wheel.fetch import ROOT

    if not (ROOT / name / "bin" / "python").exists() and not os.environ.get("CI"):
        pytest.skip(f"{package} is not cached: run scripts/check_router.py once")
    return environment(name, package).parent


@pytest.fixture(scope="session")
def router_bin() -> Path:
    return environment_of("R", "vllm-router")


@pytest.fixture(scope="session")
def gateway_bin() -> Path:
    return environment_of("G", "smg")


def behind_routers(catalog: Catalog) -> Iterator[Deployment]:
    """Every preset, data-parallel engine, store and pair of pools, on each hardware."""
    for entry in catalog.recipes.values():
        rules = rules_of(catalog, entry)
        if rules.is_omni:
            continue
        asked = [Selection(preset=key) for key in entry.recipe.presets]
        for hardware in rules.offered_hardware():
            here = Selection(hardware=hardware)
            asked += [replace(here, strategy=s) for s in rules.strategies if s.endswith("dep")]
            asked += [replace(here, kv_offload=k, kv_instances=2) for k in catalog.kv_stores]
            for mode in rules.pool_modes() if "pd_cluster" in rules.strategies else ():
                asked.append(
                    replace(here, strategy="pd_cluster", prefill_mode=mode, decode_mode=mode)
                )
        for selection in asked:
            yield deploy(configure(catalog, entry, selection))


POLICIES = ("round_robin", "random", "cache_aware", "power_of_two", "consistent_hash")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_gateways_command_is_accepted(ours: Catalog, gateway_bin: Path, policy: str) -> None:
    entry = recipe(strategy_overrides__pd_cluster__router={"policy": policy})
    query = "hardware=h200&strategy=pd_cluster&router=smg"
    router = deploy(configure(ours, entry, query)).processes[-2]
    words = [word.replace("$ROUTER_PORT", "30000") for word in router.argv]
    assert words[:2] == ["smg", "launch"]
    code = "import sys; from smg.launch_router import parse_router_args as p; p(sys.argv[1:])"
    done = subprocess.run(
        [str(gateway_bin / "python"), "-c", code, *words[2:]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_router_command_of_the_rows_is_accepted(
    upstream: Catalog, ours: Catalog, shared: Path, router_bin: Path
) -> None:
    from check_router import router_verdicts
    from rendered import filled

    found: dict[tuple[str, ...], None] = {}
    for row in read_rows(shared):
        if row["out"].get("deploy_type") in {"pd_cluster", "kv_store_lb"}:
            deployment = deploy(configure(upstream, row["recipe"], selection_of_row(row)))
            found.update(
                dict.fromkeys(tuple(p.argv) for p in deployment.processes if p.role == "router")
            )
    for deployment in behind_routers(ours):
        found.update(
            dict.fromkeys(tuple(p.argv) for p in deployment.processes if p.role == "router")
        )
    commands = [filled(argv) for argv in found]
    assert len(commands) >= 20
    verdicts = router_verdicts(commands, str(router_bin / "python"))
    assert [(c, v) for c, v in zip(commands, verdicts, strict=True) if not v["ok"]] == []


@dataclass
class Cluster:
    """A deployment whose engines are stand-ins on loopback addresses, and its router's address."""

    deployment: Deployment
    engines: dict[str, Engine]
    url: str


def addresses(deployment: Deployment) -> dict[str, str]:
    """A loopback address for each node, and the router's own."""
    names = [p.name for p in deployment.placeholders]
    given = {name: f"127.66.1.{n}" for n, name in enumerate(names, 1) if "NODE" in name}
    given |= {name: f"127.66.2.{n}" for n, name in enumerate(names, 1) if name.endswith("_IP")}
    given |= {"ROUTER_HOST": ROUTER_HOST, "ROUTER_PORT": str(free_port())}
    return {name: value for name, value in given.items() if name in names}


def node_of(process: Process, given: dict[str, str]) -> str:
    if process.pool:
        return given[f"{process.pool.upper()}_NODE_{process.node + 1}"]
    return given.get(f"WORKER_{process.node}_IP" if process.node else "HEAD_IP", "127.0.0.1")


def lay_out(catalog: Catalog, recipe: str, query: str) -> tuple[Deployment, dict[str, Engine]]:
    """A deployment with every placeholder filled in, and a stand-in for each engine that serves."""
    config = configure(catalog, recipe, query)
    assert not config.adjustments
    given = addresses(deploy(config))
    deployment = deploy(config, ReaderValues(placeholders=given))
    engines = {
        process.name: Engine(node_of(process, given), process.port or 0)
        for process in deployment.processes
        if process.is_engine and serves(process)
    }
    return deployment, engines


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(
    stack: ExitStack, log: Path, programs: Path, deployment: Deployment, engines: dict[str, Engine]
) -> Cluster:
    """Start the engines and the rendered router, and wait for its first answer."""
    for engine in engines.values():
        stack.enter_context(engine.running())
    router = next(p for p in deployment.processes if p.role == "router")
    # Beside the rendered words only a port of its own for metrics, as several run on one machine.
    argv = [str(programs / router.argv[0]), *router.argv[1:], "--prometheus-port", str(free_port())]
    process = stack.enter_context(started(argv, log))
    host = value_of(router, "--host")
    url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{value_of(router, '--port')}"
    register = next((p for p in deployment.processes if p.name == "register"), None)
    if register is not None:
        subprocess.run(["bash", "-c", register.text or ""], check=True, timeout=60)
    first_answer(url, process, log)
    for engine in engines.values():
        engine.asked.clear()
    return Cluster(deployment, engines, url)


POOLS = "hardware=h200&strategy=pd_cluster"


@pytest.mark.parametrize(
    ("query", "prefill", "decode", "ranks"),
    [
        (f"{POOLS}&prefill_mode=tp&decode_mode=tp&prefill_nodes=2&decode_nodes=1",
         {"prefill-1"}, {"decode"}, 1),
        (f"{POOLS}&prefill_mode=dep&decode_mode=dep&prefill_nodes=2&decode_nodes=1",
         {"prefill-1", "prefill-2"}, {"decode"}, 8),
    ],
    ids=["tp", "dep"],
)  # fmt: skip
def test_a_request_goes_through_both_pools(
    ours: Catalog, stack: ExitStack, tmp_path: Path, router_bin: Path,
    query: str, prefill: set[str], decode: set[str], ranks: int,
) -> None:  # fmt: skip
    deployment, engines = lay_out(ours, "deepseek-ai/DeepSeek-V3.1", query)
    assert set(engines) == prefill | decode
    cluster = start(stack, tmp_path / "log", router_bin, deployment, engines)
    answers = {
        ask(cluster.url, f"question {n}")["choices"][0]["message"]["content"] for n in range(24)
    }
    assert answers == {f"{engines[name].host}:{engines[name].port}" for name in decode}
    for name in prefill:
        asked = engines[name].asked
        assert asked, f"{name} is not asked"
        assert all(body["max_tokens"] == 1 for _, body in asked)
        assert all(body["kv_transfer_params"]["do_remote_decode"] for _, body in asked)
    for name in decode:
        asked = engines[name].asked
        assert all(body["kv_transfer_params"] == KV for _, body in asked)
        found = {headers.get("x-data-parallel-rank") for headers, _ in asked}
        assert found <= ({str(n) for n in range(ranks)} if ranks > 1 else {None})
        assert len(found) > 1 or ranks == 1


def test_a_mooncake_pool_is_asked_for_its_engine(
    ours: Catalog, stack: ExitStack, tmp_path: Path, router_bin: Path
) -> None:
    query = "hardware=gb200&strategy=pd_cluster&preset=baseline"
    deployment, engines = lay_out(ours, "baidu/ERNIE-5.5-Flash", query)
    bootstrap = {
        str(rank): {"engine_id": f"engine-{rank}", "worker_addr": {"0": {"0": "127.0.0.1:7000"}}}
        for rank in range(4)
    }
    node = engines["prefill"].host
    stack.enter_context(Engine(node, 8998, {"/query": bootstrap}).running())
    cluster = start(stack, tmp_path / "log", router_bin, deployment, engines)
    ask(cluster.url, "hello")
    ((_, first),) = engines["prefill"].asked
    ((_, second),) = engines["decode"].asked
    assert first["kv_transfer_params"]["do_remote_decode"]
    given = second["kv_transfer_params"]
    assert given["do_remote_prefill"]
    assert given["transfer_id"] == first["kv_transfer_params"]["transfer_id"]
    assert re.fullmatch(r"engine-\d", given["remote_engine_id"])
    assert given["remote_bootstrap_addr"] == f"http://{node}:8998"


def test_the_gateway_hands_the_cache_on(
    ours: Catalog, stack: ExitStack, tmp_path: Path, gateway_bin: Path
) -> None:
    query = f"{POOLS}&prefill_mode=tp&decode_mode=tp&prefill_nodes=1&decode_nodes=1&router=smg"
    deployment, engines = lay_out(ours, "deepseek-ai/DeepSeek-V3.1", query)
    cluster = start(stack, tmp_path / "log", gateway_bin, deployment, engines)
    answer = ask(cluster.url, "hello")["choices"][0]["message"]["content"]
    assert answer == f"{engines['decode'].host}:{engines['decode'].port}"
    ((_, first),) = engines["prefill"].asked
    ((_, second),) = engines["decode"].asked
    assert first["max_tokens"] == 1
    assert first["kv_transfer_params"]["do_remote_decode"]
    assert second["kv_transfer_params"] == KV


def ranks_of(engine: Engine) -> set[str | None]:
    return {headers.get("x-data-parallel-rank") for headers, _ in engine.asked}


def test_one_engine_is_reached_rank_by_rank(
    ours: Catalog, stack: ExitStack, tmp_path: Path, router_bin: Path
) -> None:
    port, engine_port = free_port(), free_port()
    entry = ours.recipes["baidu/ERNIE-5.5-Flash"]
    assert entry.recipe.dp_router is not None
    own = entry.recipe.dp_router.model_copy(update={"engine_port": engine_port})
    entry = replace(entry, recipe=entry.recipe.model_copy(update={"dp_router": own}))
    config = configure(ours, entry, f"hardware=gb200&preset=baseline&port={port}")
    deployment = deploy(config)
    engine = Engine("127.0.0.1", engine_port)
    cluster = start(stack, tmp_path / "log", router_bin, deployment, {"serve": engine})
    assert cluster.url.endswith(f":{port}")
    for n in range(32):
        ask(cluster.url, f"question {n}", {"x-session-id": f"reader-{n}"})
    assert ranks_of(engine) <= {"0", "1", "2", "3"}
    assert len(ranks_of(engine)) >= 2
    engine.asked.clear()
    for n in range(4):
        ask(cluster.url, f"again {n}", {"x-session-id": "one reader"})
    assert len(ranks_of(engine)) == 1, "a conversation keeps its rank"


def test_each_node_of_a_hybrid_engine_is_reached(
    ours: Catalog, stack: ExitStack, tmp_path: Path, router_bin: Path
) -> None:
    query = f"variant=bf16&hardware=gb200&preset=baseline&port={free_port()}"
    deployment, engines = lay_out(ours, "baidu/ERNIE-5.5-Flash", query)
    assert set(engines) == {"head", "worker-1"}
    cluster = start(stack, tmp_path / "log", router_bin, deployment, engines)
    for n in range(48):
        ask(cluster.url, f"question {n}", {"x-session-id": f"reader-{n}"})
    for engine in engines.values():
        assert engine.asked
        assert ranks_of(engine) <= {"0", "1", "2", "3"}
