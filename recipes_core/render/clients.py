"""What a reader does with a running deployment: wait, ask, measure, stop."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from recipes_core.configuration import Configuration
from recipes_core.deployment.model import Deployment, Process
from recipes_core.flags import last_value
from recipes_core.render.shell import quote


class Clients(NamedTuple):
    """Commands for a deployment that has been started; text for a shell, or Python."""

    wait: str
    """Returns when the server answers."""
    curl: str
    """A first request."""
    python: str
    """The same by the OpenAI client."""
    bench: str | None
    """A short benchmark; None where vLLM's own does not reach."""
    stop: str


def base_url(deployment: Deployment) -> str:
    """Address that clients use: the router's, the head's, or the server's."""
    entry = deployment.entry
    if entry.role == "router":
        host = _router_host(entry)
        port = last_value(entry.argv, "--port") or last_value(entry.argv, "--http-port") or "8000"
        return f"http://{host}:{port}"
    host = "localhost"
    if entry.role in {"head", "instance"} and deployment.configuration.nodes > 1:
        host = "$HEAD_IP"
    given = deployment.values.placeholders
    if host[1:] in given:
        host = given[host[1:]]
    return f"http://{host}:{entry.port or 8000}"


def _router_host(entry: Process) -> str:
    host = last_value(entry.argv, "--host") or last_value(entry.argv, "--http-host") or "localhost"
    return "localhost" if host == "0.0.0.0" else host  # noqa: S104


def served_name(deployment: Deployment) -> str:
    """The model name that requests use."""
    engine = next(process for process in deployment.processes if process.is_engine)
    return last_value(engine.argv, "--served-model-name") or engine.argv[2]


def clients_of(deployment: Deployment) -> Clients:
    """The client commands of a deployment, aimed at whichever process serves."""
    config = deployment.configuration
    url, model = base_url(deployment), served_name(deployment)
    key = deployment.values.api_key_var
    kind = _request_kind(config)
    curl = _omni_curl(deployment) or _curl(url, kind, model, key)
    return Clients(
        _wait(url), curl, _python(url, kind, model, key), _bench(deployment, url, model), STOP
    )


STOP = "pkill -INT -f 'vllm serve'"


@lru_cache(maxsize=512)
def _wait(url: str) -> str:
    return f"until curl -sf {_url(url, '/health')} > /dev/null; do sleep 5; done"


def _url(base: str, path: str) -> str:
    return quote(base + path)


def _request_kind(config: Configuration) -> str:
    asked = config.variant.request or config.recipe.model.request
    if asked is not None:
        return asked
    return "embeddings" if "embedding" in config.recipe.meta.tasks else "chat"


def _first_request(kind: str, model: str) -> tuple[str, dict[str, object]]:
    if kind == "embeddings":
        return "/v1/embeddings", {"model": model, "input": "The quick brown fox"}
    if kind == "completions":
        prompt = "The capital of France is"
        return "/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 32}
    messages = [{"role": "user", "content": "Say hello in three languages."}]
    return "/v1/chat/completions", {"model": model, "messages": messages, "max_tokens": 128}


@lru_cache(maxsize=2048)
def _curl(url: str, kind: str, model: str, key: str | None) -> str:
    path, body = _first_request(kind, model)
    lines = [f"curl {_url(url, path)}", "-H 'Content-Type: application/json'"]
    if key:
        lines.append(f'-H "Authorization: Bearer ${key}"')
    lines.append(f"-d {quote(json.dumps(body), True)}")
    return " \\\n  ".join(lines)


def _omni_curl(deployment: Deployment) -> str | None:
    task = deployment.configuration.task
    if task is None:
        return None
    there = task.hardware_overrides.get(deployment.configuration.hardware)
    text = (there.curl if there is not None else None) or task.curl
    return text.strip() if text else None


_CALLS = {
    "/v1/chat/completions": ("chat.completions", "choices[0].message.content"),
    "/v1/completions": ("completions", "choices[0].text"),
    "/v1/embeddings": ("embeddings", "data[0].embedding[:4]"),
}


@lru_cache(maxsize=2048)
def _python(url: str, kind: str, model: str, key: str | None) -> str:
    path, body = _first_request(kind, model)
    call, answer = _CALLS[path]
    secret = f"os.environ[{key!r}]" if key else "'unused'"
    arguments = "".join(f"    {name}={value!r},\n" for name, value in body.items())
    address = f"os.path.expandvars({url + '/v1'!r})" if "$" in url else repr(url + "/v1")
    head = "import os\n\n" if key or "$" in url else ""
    return (
        f"{head}from openai import OpenAI\n\n"
        f"client = OpenAI(base_url={address}, api_key={secret})\n"
        f"answer = client.{call}.create(\n{arguments})\n"
        f"print(answer.{answer})"
    )


def _bench(deployment: Deployment, url: str, model: str) -> str | None:
    config = deployment.configuration
    if config.rules.is_omni or "embedding" in config.recipe.meta.tasks:
        return None
    engine = next(process for process in deployment.processes if process.is_engine)
    return _bench_text(url, engine.argv[2], model, "--trust-remote-code" in engine.argv)


@lru_cache(maxsize=2048)
def _bench_text(url: str, checkpoint: str, name: str, trust: bool) -> str:
    words = [["vllm", "bench", "serve"], ["--base-url", url], ["--model", checkpoint]]
    if name != checkpoint:
        words.append(["--served-model-name", name])
    words += [
        ["--dataset-name", "random"],
        ["--random-input-len", "1024", "--random-output-len", "256"],
        ["--num-prompts", "64", "--max-concurrency", "16"],
    ]
    if trust:
        words.append(["--trust-remote-code"])
    return " \\\n  ".join(" ".join(map(quote, line)) for line in words)
