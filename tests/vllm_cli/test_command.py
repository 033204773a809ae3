"""Pasted commands: shell text to words and variables."""

from __future__ import annotations

import pytest

from recipes_core.vllm_cli.command import MAX_LENGTH, config_arguments, expand_config, parse_command


@pytest.mark.parametrize(
    ("text", "argv", "env"),
    [
        ("vllm serve m --port 80", "vllm serve m --port 80", {}),
        ("$ vllm serve m \\\n  --port 80 \\\n  -tp 2", "vllm serve m --port 80 -tp 2", {}),
        ("A=1 B='x y' vllm serve m", "vllm serve m", {"A": "1", "B": "x y"}),
        ("export A=1\nexport B=$HOME/x\nvllm serve m", "vllm serve m", {"A": "1", "B": "$HOME/x"}),
        ("env A=1 vllm serve m", "vllm serve m", {"A": "1"}),
        ("uv run vllm serve m > log.txt 2>&1 &", "vllm serve m", {}),
        ("/opt/venv/bin/vllm serve m | tee log", "vllm serve m", {}),
        ("numactl -N 0 vllm serve m", "vllm serve m", {}),
        ("vllm serve m\r\n", "vllm serve m", {}),
        ("# a note\nvllm serve m \\\n  # another\n  --port 80", "vllm serve m --port 80", {}),
        ("nohup vllm serve m -tp 8 > log 2>&1 &", "vllm serve m -tp 8", {}),
        ("vllm serve m -tp 8 2>err 1> out < /dev/null", "vllm serve m -tp 8", {}),
        ("uv run --with vllm==0.30.0 vllm serve m", "vllm serve m", {}),
        ("vllm serve m --port 80 # mine\n", "vllm serve m --port 80", {}),
        ("vllm serve m \\\n  --port 80 # why \\\n  -tp 2", "vllm serve m --port 80 -tp 2", {}),
        ("vllm serve m --seed 1#2 --x=a#b", "vllm serve m --seed 1#2 --x=a#b", {}),
        (
            "vllm serve m --x '#1' --y \"a\n#b\"",
            ["vllm", "serve", "m", "--x", "#1", "--y", "a\n#b"],
            {},
        ),
        ("vllm serve m \\#x", "vllm serve m #x", {}),
        ("export A=1 # one\nvllm serve m", "vllm serve m", {"A": "1"}),
        ("vllm serve m\r\n# end\r\n", "vllm serve m", {}),
        (
            "python3 -m vllm.entrypoints.openai.api_server --model m",
            "vllm serve --model m",
            {},
        ),
        ("vllm bench serve --model m", "vllm bench serve --model m", {}),
        (
            "docker run --gpus all -p 80:80 -e A=1 --rm -v ~/x:/x img:1 m --port 80",
            "vllm serve m --port 80",
            {"A": "1"},
        ),
        (
            "export T=s\nsudo docker run -e T -e U img:1 m",
            "vllm serve m",
            {"T": "s", "U": "$U"},
        ),
        ("podman run --entrypoint vllm img:1 serve m", "vllm serve m", {}),
        ("docker run img:1 vllm serve m --omni", "vllm serve m --omni", {}),
    ],
)
def test_what_people_paste(text: str, argv: str | list[str], env: dict[str, str]) -> None:
    found = parse_command(text)
    assert list(found.argv) == (argv.split() if isinstance(argv, str) else argv)
    assert found.env == env


def test_quotes_keep_their_insides() -> None:
    text = """vllm serve m --hf-overrides '{"a": "b c", "d": 1}' --chat-template "x
y" """
    assert parse_command(text).argv[-3:] == ('{"a": "b c", "d": 1}', "--chat-template", "x\ny")


def test_the_image_is_told() -> None:
    assert (
        parse_command("docker run vllm/vllm-openai:v0.28.0 m").image == "vllm/vllm-openai:v0.28.0"
    )
    assert parse_command("vllm serve m").image is None


def test_what_was_passed_over_is_said() -> None:
    found = parse_command("pip install vllm\nvllm serve m\ncurl http://x").findings
    assert [f.where for f in found] == ["pip", "curl"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ls -l", "no vllm serve command"),
        ("", "no vllm serve command"),
        ("docker run", "no vllm serve command"),
        ("vllm serve 'm", "a quote is opened and not closed"),
        ("vllm serve " + "x" * MAX_LENGTH, "longer than"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_command(text)


def test_nothing_in_the_text_is_run() -> None:
    found = parse_command("vllm serve $(touch /tmp/never) --port `id`")
    assert found.argv[:2] == ("vllm", "serve")


OPTIONS = {"--no-enable-prefix-caching", "--no-x"}


def test_a_config_file_is_read_as_vllm_reads_it() -> None:
    text = """
port: 12323
tensor-parallel-size: 4
enable-expert-parallel: true
enable-prefix-caching: false
trust-remote-code: false
middleware: [a, b]
compilation-config: {pass_config: {fuse_norm_quant: true}}
"""
    assert config_arguments(text, OPTIONS) == [
        "--port", "12323", "--tensor-parallel-size", "4", "--enable-expert-parallel",
        "--no-enable-prefix-caching", "--middleware", "a", "b",
        "--compilation-config", '{"pass_config": {"fuse_norm_quant": true}}',
    ]  # fmt: skip


def test_the_command_line_stands_after_the_file() -> None:
    argv = ["vllm", "serve", "m", "--config", "x.yaml", "--port", "1"]
    found = expand_config(argv, lambda _: "port: 2", OPTIONS)
    assert found == ("vllm", "serve", "m", "--port", "2", "--port", "1")


def test_the_file_may_name_the_model() -> None:
    argv = ["vllm", "serve", "--config", "x.yaml", "--port", "1"]
    found = expand_config(argv, lambda _: "model: m\nseed: 3", OPTIONS)
    assert found == ("vllm", "serve", "m", "--seed", "3", "--port", "1")


@pytest.mark.parametrize(
    ("argv", "text", "message"),
    [
        (["vllm", "serve", "--config"], "", "needs a file"),
        (["vllm", "serve", "--config", "x.json"], "", "reads a .yaml"),
        (["vllm", "serve", "--config", "x.yml"], "- 1", "no mapping"),
        (["vllm", "serve", "--config", "x.yml"], "a: [", "no YAML"),
    ],
)
def test_a_file_that_vllm_would_refuse(argv: list[str], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        expand_config(argv, lambda _: text, OPTIONS)
