"""A recipe whose every text is an attack stays text in every form."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from recipes_core.catalog.loader import builtin_dir, load_catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.errors import RenderRefusedError
from recipes_core.render.compose import to_compose
from recipes_core.render.kubernetes import to_kubernetes
from recipes_core.render.markdown import to_markdown
from recipes_core.render.page import to_html
from recipes_core.render.shell import docker_command, guarded_script, script
from recipes_core.render.slurm import to_slurm
from recipes_core.render.vllm_config import to_vllm_config

EVIL = "<img src=x onerror=alert(1)>$(touch pwned)`touch pwned`\";touch pwned;'\\\n## Serve\n```\n"
QUERY = "advanced=evil&served_name=%24(touch%20pwned)&host=%60touch%20pwned%60"
FORMS = {
    "shell": lambda c, d: "\n".join(script(p) for p in d.processes),
    "docker": lambda c, d: "\n".join(filter(None, map(docker_command, d.processes))),
    "script": lambda c, d: "\n".join(guarded_script(d, p) for p in d.processes),
    "slurm": lambda c, d: to_slurm(d),
}


@pytest.fixture(scope="module")
def laid(tmp_path_factory):
    """ERNIE-4.5-VL with an attack in every text that is shown or passed on."""
    folder = tmp_path_factory.mktemp("evil")
    path = builtin_dir() / "models" / "baidu" / "ERNIE-4.5-VL-28B-A3B-PT.yaml"
    recipe: dict[str, Any] = yaml.safe_load(path.read_text())
    meta, model = recipe["meta"], recipe["model"]
    meta["title"] = meta["description"] = meta["provider"] = EVIL
    meta["links"] = {EVIL: f"javascript:alert(1)//{EVIL}"}
    model["base_args"] = ["--trust-remote-code", "--chat-template", EVIL, "--x", "$(touch pwned)"]
    model["base_env"] = {"EVIL": EVIL}
    model["parameter_count"] = EVIL
    for variant in recipe["variants"].values():
        variant["label"] = variant["description"] = EVIL
        variant.pop("model_id", None)
    for feature in recipe["features"].values():
        feature["label"] = feature["description"] = EVIL
    recipe["notes"] = recipe["known_issues"] = [{"title": EVIL, "body": EVIL}]
    recipe["guide"] = f"## {EVIL}\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))\n"
    recipe["dependencies"] = [{"command": "true", "note": EVIL}]
    recipe["advanced_options"] = [{"id": "evil", "label": EVIL, "args": ["--seed", EVIL]}]
    target = folder / "models" / "evil" / "Model.yaml"
    target.parent.mkdir(parents=True)
    target.write_text(yaml.safe_dump(recipe, allow_unicode=True))
    catalog = load_catalog("builtin", folder)
    config = configure(catalog, "evil/Model", QUERY)
    return config, deploy(config)


@pytest.mark.parametrize("form", FORMS)
def test_a_shell_runs_nothing_but_the_command(laid, form, tmp_path: Path):
    text = FORMS[form](*laid)
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in {
        "vllm": 'printf "%s\\0" "$@" > "$LOG"',
        "docker": 'printf "%s\\0" "$@" > "$LOG"',
        "srun": 'shift; SLURM_NODEID=0 "$@"',
    }.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "LOG": str(tmp_path / "log"), "HOME": "/h"}
    subprocess.run(["bash", "-c", text], env=env, cwd=tmp_path, check=True, timeout=60)
    assert not (tmp_path / "pwned").exists()
    words = (tmp_path / "log").read_text().split("\0")[:-1]
    argv = laid[1].processes[0].argv
    assert words[-len(argv) + 2 :] == argv[2:]


def test_the_page_has_no_tag_of_theirs(laid):
    text = to_markdown(*laid)
    outside = re.sub(r"^(`{3,})[^`]*?\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<img" not in re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", outside)
    assert "<script" not in outside
    assert outside.count("\n## Serve\n") == 1


class Tags(HTMLParser):
    """Tags with their attributes, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_html_shows_it_as_text(laid):
    text = to_html(*laid)
    tags = Tags(text).found
    assert len(tags) > 50
    for tag, attributes in tags:
        assert tag not in {"img", "iframe", "object"}
        assert not any(name.startswith("on") for name in attributes)
        assert not (attributes.get("href") or "").strip().lower().startswith("javascript:")
    assert "alert(1)</script>" not in text


def test_yaml_targets_hold_the_words_as_they_are(laid):
    _, deployment = laid
    argv = deployment.processes[0].argv[2:]
    service = yaml.safe_load(to_compose(deployment))["services"]["serve"]
    assert [word.replace("$$", "$") for word in service["command"]] == argv
    pod = yaml.safe_load_all(to_kubernetes(deployment))
    container = next(pod)["spec"]["template"]["spec"]["containers"][0]
    assert [word.replace("$$(", "$(") for word in container["args"]] == argv
    assert container["env"][0]["value"].replace("$$(", "$(") == EVIL
    settings = yaml.safe_load(to_vllm_config(deployment))
    assert settings["chat-template"] == EVIL
    assert settings["served-model-name"] == "$(touch pwned)"
    assert json.loads(json.dumps(settings))["seed"] == EVIL


def test_a_hostile_id_makes_no_object_name(laid):
    from recipes_core.render.containers import slug

    for text in (EVIL, "../../x", "", "9", "A" * 200, "é", "-"):
        assert re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", slug(text))


def test_refusals_are_text_too(laid):
    with pytest.raises(RenderRefusedError):
        to_vllm_config(laid[1], EVIL)
