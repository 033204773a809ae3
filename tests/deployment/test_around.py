"""Routers, ports, placeholders: what stands around an engine, case by case."""

from __future__ import annotations

import json
import subprocess

import pytest
from pydantic import ValidationError

from recipes_core.catalog.catalog import Catalog, RecipeEntry
from recipes_core.configuration import configure
from recipes_core.deployment import ReaderValues, deploy
from recipes_core.deployment.names import hint_of, placeholders_in
from recipes_core.options import options_of
from recipes_core.render.clients import clients_of
from recipes_core.render.json import to_json
from recipes_core.render.markdown import to_markdown
from recipes_core.render.scripts import script_files
from recipes_core.render.shell import docker_argv, guarded_script, quote, script
from recipes_core.vllm_cli.effects import ROUTER_FLAGS

from .laws import check_all, endpoints_of, router_size, value_of
from .synthetic import recipe

ERNIE = "baidu/ERNIE-5.5-Flash"
DP_ROUTER = {"port": 8000, "engine_port": 8100}
NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}'


class TestRouterOverOneEngine:
    def test_one_node_is_reached_by_its_ranks(self, ours: Catalog) -> None:
        entry = recipe(dp_router=DP_ROUTER)
        deployment = deploy(configure(ours, entry, "hardware=h200&strategy=single_node_dep"))
        check_all(deployment)
        assert endpoints_of(deployment) == ["http://localhost:8100"]
        assert router_size(deployment) == "8"
        router = deployment.processes[-1]
        assert (router.role, router.start) == ("router", "after")

    def test_under_hybrid_balancing_each_node_answers_for_its_ranks(self, ours: Catalog) -> None:
        entry = recipe(dp_router=DP_ROUTER)
        query = "hardware=h200&strategy=multi_node_dep&nodes=3"
        deployment = deploy(configure(ours, entry, query))
        check_all(deployment)
        assert endpoints_of(deployment) == [
            "http://$HEAD_IP:8100", "http://$WORKER_1_IP:8100", "http://$WORKER_2_IP:8100",
        ]  # fmt: skip
        assert router_size(deployment) == "8"
        hints = {item.name: item.hint for item in deployment.placeholders}
        assert hints["WORKER_2_IP"] == "address of worker 2, as the router reaches it"

    def test_without_it_the_head_answers_for_all(self, ours: Catalog) -> None:
        entry = recipe(
            dp_router=DP_ROUTER, strategy_overrides__multi_node_dep__extra_args=[
                "--no-data-parallel-hybrid-lb"
            ],
        )  # fmt: skip
        query = "hardware=h200&strategy=multi_node_dep&nodes=2"
        deployment = deploy(configure(ours, entry, query))
        assert endpoints_of(deployment) == ["http://$HEAD_IP:8100"]
        assert router_size(deployment) == "16"

    def test_a_size_that_is_asked_elsewhere_reaches_the_router(self, ours: Catalog) -> None:
        entry = recipe(
            dp_router=DP_ROUTER,
            strategy_overrides__single_node_dep__extra_args=["--tensor-parallel-size", "2"],
        )
        deployment = deploy(configure(ours, entry, "hardware=h200&strategy=single_node_dep"))
        assert router_size(deployment) == "4"

    @pytest.mark.parametrize("strategy", ["single_node_tp", "single_node_tep"])
    def test_an_engine_without_ranks_has_none(self, ours: Catalog, strategy: str) -> None:
        entry = recipe(dp_router=DP_ROUTER)
        deployment = deploy(configure(ours, entry, f"hardware=h200&strategy={strategy}"))
        assert endpoints_of(deployment) is None
        assert value_of(deployment.processes[0], "--port") is None

    def test_a_port_that_is_asked_is_the_routers(self, ours: Catalog) -> None:
        entry = recipe(dp_router=DP_ROUTER)
        query = "hardware=h200&strategy=single_node_dep&port=9000"
        engine, router = deploy(configure(ours, entry, query)).processes
        assert (engine.port, router.port) == (8100, 9000)
        assert engine.argv.count("--port") == 1
        assert value_of(router, "--worker-urls") == "http://localhost:8100"

    def test_the_engines_own_port_cannot_be_the_routers(self, ours: Catalog) -> None:
        entry = recipe(dp_router=DP_ROUTER)
        query = "hardware=h200&strategy=single_node_dep&port=8100"
        deployment = deploy(configure(ours, entry, query))
        assert [f.code for f in deployment.findings if f.severity == "error"] == ["port-clash"]

    def test_a_preset_may_change_policy_and_release(self, ours: Catalog) -> None:
        preset = {
            "label": "L", "hardware": "h200", "strategy": "single_node_dep",
            "router": {"policy": "round_robin", "install": "uv pip install vllm-router==0.1.16"},
        }  # fmt: skip
        entry = recipe(dp_router=DP_ROUTER, presets__p=preset)
        deployment = deploy(configure(ours, entry, "preset=p"))
        router = deployment.processes[-1]
        assert value_of(router, "--policy") == "round_robin"
        assert "uv pip install vllm-router==0.1.16" in [
            s.command for s in deployment.install.extras
        ]


class TestRouterBeforePools:
    QUERY = "hardware=h200&strategy=pd_cluster"

    def test_ports_follow_the_pools(self, ours: Catalog) -> None:
        entry = recipe(
            strategy_overrides__pd_cluster={
                "prefill": {"vllm_args": ["--port", "8101"]},
                "decode": {"vllm_args": ["--port", "8102"]},
            }
        )
        deployment = deploy(configure(ours, entry, self.QUERY))
        assert endpoints_of(deployment) == [
            "http://$PREFILL_NODE_1:8101", "http://$DECODE_NODE_1:8102",
        ]  # fmt: skip

    def test_pools_that_differ_are_warned_of(self, ours: Catalog) -> None:
        query = f"{self.QUERY}&prefill_mode=tep&prefill_nodes=2&decode_mode=dep&decode_nodes=2"
        deployment = deploy(configure(ours, recipe(), query))
        assert router_size(deployment) == "8"
        (finding,) = [f for f in deployment.findings if f.code == "router-pools-differ"]
        assert "prefill 1, decode 8" in finding.message

    def test_halves_keep_their_side_channels_apart(self, ours: Catalog) -> None:
        query = f"{self.QUERY}&prefill_nodes=0&decode_nodes=0&prefill_mode=dep&decode_mode=dep"
        deployment = deploy(configure(ours, recipe(), query))
        ports = {
            p.name: p.env["VLLM_NIXL_SIDE_CHANNEL_PORT"]
            for p in deployment.role("prefill", "decode")
        }
        assert ports == {"prefill": "5557", "decode": "5561"}
        devices = [p.env["CUDA_VISIBLE_DEVICES"] for p in deployment.role("prefill", "decode")]
        assert devices == ["0,1,2,3", "4,5,6,7"]

    def test_mooncake_is_named_to_the_router(self, ours: Catalog) -> None:
        deployment = deploy(configure(ours, ERNIE, "hardware=gb200&strategy=pd_cluster"))
        assert value_of(deployment.processes[-1], "--kv-connector") == "mooncake"
        plain = deploy(configure(ours, recipe(), self.QUERY))
        assert value_of(plain.processes[-1], "--kv-connector") is None

    def test_a_store_composes_with_pools_and_keeps_their_router(self, ours: Catalog) -> None:
        query = f"{self.QUERY}&kv_offload=kv_store_distributed_mooncake"
        deployment = deploy(configure(ours, recipe(), query))
        check_all(deployment)
        assert [p.role for p in deployment.processes] == ["master", "prefill", "decode", "router"]
        for process in deployment.role("prefill", "decode"):
            config = json.loads(value_of(process, "--kv-transfer-config") or "")
            assert config["kv_connector"] == "MultiConnector"
        assert value_of(deployment.processes[-1], "--kv-connector") is None


class TestGateway:
    QUERY = "hardware=h200&strategy=pd_cluster&router=smg"

    def test_workers_are_registered_with_connector_and_role(self, ours: Catalog) -> None:
        deployment = deploy(configure(ours, recipe(), self.QUERY))
        check_all(deployment)
        router, register = deployment.processes[-2:]
        assert router.argv == [
            "smg", "launch", "--pd-disaggregation", "--policy", "round_robin",
            "--host", "$ROUTER_HOST", "--port", "$ROUTER_PORT",
        ]  # fmt: skip
        assert (register.role, register.start) == ("companion", "after")
        assert deployment.entry is router
        given = {name: f"v{n}" for n, name in enumerate(p.name for p in deployment.placeholders)}
        lines = ["curl() { printf '%s\\n' \"$@\"; }", *(f"{k}={v}" for k, v in given.items())]
        text = "\n".join([*lines, register.text or ""])
        done = subprocess.run(
            ["bash", "-u"], input=text, text=True, capture_output=True, check=True
        )
        bodies = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert bodies == [
            {"url": f"http://{given['PREFILL_NODE_1']}:8001", "worker_type": "prefill",
             "runtime_type": "vllm", "kv_connector": "NixlConnector", "kv_role": "kv_producer"},
            {"url": f"http://{given['DECODE_NODE_1']}:8002", "worker_type": "decode",
             "runtime_type": "vllm", "kv_connector": "NixlConnector", "kv_role": "kv_consumer"},
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("query", "why"),
        [
            ("prefill_mode=dep", "prefill runs data parallel"),
            ("kv_offload=kv_store_distributed_mooncake", "KV store"),
        ],
    )
    def test_it_is_refused_with_the_reason(self, ours: Catalog, query: str, why: str) -> None:
        config = configure(ours, recipe(), f"{self.QUERY}&{query}")
        (adjustment,) = [a for a in config.adjustments if a.axis == "router"]
        assert (adjustment.asked, adjustment.got) == ("smg", "vllm")
        assert why in adjustment.reason
        option = next(o for o in options_of(config)["router"] if o.id == "smg")
        assert option.reason == adjustment.reason

    def test_another_connector_is_refused(self, ours: Catalog) -> None:
        mooncake = '{"kv_connector":"MooncakeConnector","kv_role":"kv_consumer"}'
        entry = recipe(
            strategy_overrides__pd_cluster__decode__vllm_args=["--kv-transfer-config", mooncake]
        )
        config = configure(ours, entry, self.QUERY)
        assert config.router == "vllm"
        assert "decode uses MooncakeConnector" in config.adjustments[0].reason

    def test_dynamo_is_refused_with_the_reason(self, ours: Catalog) -> None:
        config = configure(ours, recipe(), "hardware=h200&strategy=pd_cluster&router=dynamo")
        (adjustment,) = config.adjustments
        assert adjustment.got == "vllm"
        assert "not `vllm serve`" in adjustment.reason

    def test_a_recipe_may_rule_it_out(self, ours: Catalog) -> None:
        entry = recipe(strategy_overrides__pd_cluster__routers=["vllm"])
        config = configure(ours, entry, self.QUERY)
        assert config.adjustments[0].reason == "the recipe says that it does not work with it"


class TestPlaceholdersInJson:
    """Single quotes keep a shell from expanding ``$NAME``: only ours come out of them."""

    WORD = '{"device_name":"$MOONCAKE_DEVICE_NAME","$ref":"#/$defs/x","it\'s":"`id` $(id) \\\\"}'

    def test_only_declared_names_leave_the_quotes(self) -> None:
        assert quote('{"a":"$MOONCAKE_DEVICE_NAME"}') == """'{"a":"'"$MOONCAKE_DEVICE_NAME"'"}'"""
        assert quote('{"$ref":"#/$defs/x"}') == """'{"$ref":"#/$defs/x"}'"""
        assert quote("$HEAD_IP") == "$HEAD_IP"
        assert quote("$HEAD_IP", True) == "'$HEAD_IP'"
        assert quote('"$HEAD_IP"', True) == """'"$HEAD_IP"'"""
        assert quote("") == quote("", True) == "''"
        assert list(placeholders_in([self.WORD])) == ["MOONCAKE_DEVICE_NAME"]

    @pytest.mark.parametrize("value", ["$MOONCAKE_DEVICE_NAME", "mlx5_0,mlx5_1", "a b\"c'd*"])
    def test_bash_passes_on_the_word(self, value: str) -> None:
        done = subprocess.run(
            ["bash", "-uc", f"printf '%s' {quote(self.WORD)}"], text=True, capture_output=True,
            check=True, env={"MOONCAKE_DEVICE_NAME": value},
        )  # fmt: skip
        assert done.stdout == self.WORD.replace("$MOONCAKE_DEVICE_NAME", value)

    def test_the_engine_gets_the_readers_adapters(self, ours: Catalog) -> None:
        deployment = deploy(configure(ours, ERNIE, "hardware=gb200&strategy=pd_cluster"))
        process = deployment.processes[0]
        assert "'\"$MOONCAKE_DEVICE_NAME\"'" in script(process)
        assert ': "${MOONCAKE_DEVICE_NAME:?' in guarded_script(deployment, process)
        given = ReaderValues(placeholders={"MOONCAKE_DEVICE_NAME": "mlx5_0,mlx5_1"})
        filled = deploy(configure(ours, ERNIE, "hardware=gb200&strategy=pd_cluster"), given)
        config = json.loads(value_of(filled.processes[0], "--kv-transfer-config") or "")
        assert config["kv_connector_extra_config"]["device_name"] == "mlx5_0,mlx5_1"
        assert '"device_name":"mlx5_0,mlx5_1"' in script(filled.processes[0])

    def test_a_schema_in_a_flag_needs_no_value(self, ours: Catalog) -> None:
        entry = recipe(model__base_args=["--hf-overrides", '{"$ref":"#/$defs/x"}'])
        deployment = deploy(configure(ours, entry))
        assert not deployment.placeholders
        words, needs = docker_argv(deployment.processes[0], {"HF_CACHE": "/x"})
        assert needs == []
        assert '{"$ref":"#/$defs/x"}' in (words or [])

    def test_every_hint_is_one_line(self) -> None:
        for name in ("HEAD_IP", "PREFILL_NODE_12", "WORKER_3_IP", "SOMETHING_ELSE"):
            assert hint_of(name)
            assert "\n" not in hint_of(name)


class TestCompanionCommands:
    """A companion's text becomes the words that a shell would make of it."""

    def entry(self, command: str) -> RecipeEntry:
        companion = {"label": "Helper", "command": command}
        return recipe(features={"helper": {"companion": companion}})

    def test_quotes_hold_a_word_together(self, ours: Catalog) -> None:
        entry = self.entry('helper serve \\\n  --config \'{"a": 1}\' --name "two words"')
        helper = deploy(configure(ours, entry)).role("companion")[0]
        assert helper.argv == ["helper", "serve", "--config", '{"a": 1}', "--name", "two words"]
        assert script(helper).startswith("helper serve \\\n  --config '{")

    def test_one_that_no_shell_reads_is_no_recipe(self) -> None:
        with pytest.raises(ValidationError, match="No closing quotation"):
            self.entry("helper 'serve")


class TestStoreOverManyNodes:
    QUERY = "hardware=h200&strategy={}&nodes=2&kv_offload=kv_store_distributed_mooncake"

    @pytest.mark.parametrize(("instances", "who"), [(1, "clients"), (2, "the router")])
    def test_nodes_that_nobody_asks_are_said(self, ours: Catalog, instances: int, who: str) -> None:
        query = f"{self.QUERY.format('multi_node_dep')}&kv_instances={instances}"
        (finding,) = deploy(configure(ours, recipe(), query)).findings
        assert (finding.severity, finding.code) == ("warning", "nodes-unreached")
        assert who in finding.message
        assert "port 8000 of all 2 nodes" in finding.message

    @pytest.mark.parametrize(
        ("query", "endpoints"),
        [
            ("strategy=single_node_dep", ["http://localhost:8100"]),
            (
                "strategy=multi_node_dep&nodes=2",
                ["http://$HEAD_IP:8100", "http://$WORKER_1_IP:8100"],
            ),
        ],
    )
    def test_one_instance_keeps_the_router_over_its_ranks(
        self, ours: Catalog, query: str, endpoints: list[str]
    ) -> None:
        """A store composes with the strategy: its port and its router stay."""
        store = "kv_offload=kv_store_distributed_mooncake"
        entry = recipe(dp_router=DP_ROUTER)
        deployment = deploy(configure(ours, entry, f"hardware=h200&{query}&{store}"))
        check_all(deployment)
        assert endpoints_of(deployment) == endpoints
        assert (router_size(deployment), deployment.type) == ("8", "kv_store_lb")
        assert "http://localhost:8000" in clients_of(deployment).curl
        assert not deployment.findings
        clash = deploy(configure(ours, entry, f"hardware=h200&{query}&{store}&port=8100"))
        assert [finding.code for finding in clash.findings] == ["port-clash"]
        several = deploy(configure(ours, entry, f"hardware=h200&{query}&{store}&kv_instances=2"))
        check_all(several)
        assert [url[-5:] for url in endpoints_of(several) or ()] == [":8000", ":8000"]

    def test_one_head_that_answers_for_all_is_enough(self, ours: Catalog) -> None:
        assert not deploy(configure(ours, recipe(), self.QUERY.format("multi_node_tp"))).findings


def test_no_image_is_named_where_the_recipe_says_that_none_will_do(ours: Catalog) -> None:
    deployment = deploy(configure(ours, ERNIE))
    assert deployment.docker_image is None
    assert to_json(deployment.configuration, deployment)["deployment"]["docker_image"] is None
    pinned = deploy(configure(ours, ERNIE, "vllm=0.32.0"))
    assert not pinned.findings


def test_a_pool_takes_the_nodes_that_a_variant_is_known_to_need(ours: Catalog) -> None:
    """BF16 takes two GB200 trays for each copy, in a pool as anywhere."""
    config = configure(ours, ERNIE, "strategy=pd_cluster&variant=bf16")
    assert {role: tuple(pool) for role, pool in config.pools.items()} == {
        "prefill": (2, "dep"), "decode": (2, "dep"),
    }  # fmt: skip
    base = configure(ours, ERNIE, "strategy=pd_cluster&preset=baseline")
    assert [pool.nodes for pool in base.pools.values()] == [1, 1]


@pytest.mark.parametrize(
    ("modes", "shell", "docker"),
    [(["pip"], True, False), (["docker"], False, True), (["pip", "docker"], True, True)],
)
def test_a_further_step_is_taken_where_the_recipe_needs_it(
    ours: Catalog, modes: list[str], shell: bool, docker: bool
) -> None:
    step = {
        "command": "git clone https://example.org/tree",
        "note": "A tree.",
        "install_modes": modes,
    }
    deployment = deploy(configure(ours, recipe(dependencies=[step]), "hardware=h200"))
    for form, needed in ((False, shell), (True, docker)):
        text = script_files(deployment, docker=form)["install.sh"]
        assert (step["command"] in text) is needed
    page = to_markdown(deployment.configuration, deployment)
    assert ("Also needed (A tree):" in page) is shell
    assert ("Also needed with Docker (A tree):" in page) is not shell


@pytest.mark.parametrize("docker", [False, True])
def test_nothing_is_cloned_twice_into_one_folder(ours: Catalog, docker: bool) -> None:
    deployment = deploy(configure(ours, "MiniMaxAI/MiniMax-H3", "hardware=h200"))
    text = script_files(deployment, docker=docker)["install.sh"]
    assert text.count("vllm-omni.git /path/to/vllm-omni") == 1


def test_every_flag_of_a_router_has_words(ours: Catalog) -> None:
    used: set[str] = set()
    for entry, query in (
        ("deepseek-ai/DeepSeek-V3.2", "strategy=pd_cluster"),
        ("deepseek-ai/DeepSeek-V3.2", "kv_offload=kv_store_centralized_mooncake&kv_instances=2"),
        (ERNIE, "hardware=gb200"),
    ):
        for process in deploy(configure(ours, entry, query)).processes:
            if process.argv[:1] == ["vllm-router"]:
                used |= {word for word in process.argv if word.startswith("--")}
    assert used >= {"--prefill", "--decode", "--worker-urls", "--worker-startup-timeout-secs"}
    assert used <= ROUTER_FLAGS.keys()
