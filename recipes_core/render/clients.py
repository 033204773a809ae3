"""What a reader does with a running deployment: wait, ask, measure, stop."""

from __future__ import annotations

import itertools
import json
import re
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
    python: str | None
    """The same by the OpenAI client; None for an omni task, which it does not speak."""
    bench: str | None
    """A short benchmark; None where vLLM's own does not reach."""
    stop: str
    """Interrupts what runs on a machine without containers."""
    stop_containers: str
    """The same for containers; empty where nothing has an image."""


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
    engine = deployment.first_engine
    return last_value(engine.argv, "--served-model-name") or engine.argv[2]


def clients_of(deployment: Deployment) -> Clients:
    """The client commands of a deployment, aimed at whichever process serves."""
    config = deployment.configuration
    url, model = base_url(deployment), served_name(deployment)
    key = deployment.values.api_key_var
    kind = _request_kind(config)
    task = omni_request(deployment, url, model, key)
    curl = task or _curl(url, kind, model, key)
    python = _python(url, kind, model, key) if task is None else None
    return Clients(
        wait=_wait(url),
        curl=curl,
        python=python,
        bench=_bench(deployment, url, model),
        stop=_stop(deployment),
        stop_containers=_stop_containers(deployment),
    )


def _stop(deployment: Deployment) -> str:
    """Interrupts the engines of a machine, and what runs beside them."""
    beside = [process.argv for process in deployment.processes if not process.is_engine]
    programs = dict.fromkeys(["vllm serve", *map(_program, beside)])
    return "\n".join(f"pkill -INT -f {quote(program)}" for program in programs if program)


def _stop_containers(deployment: Deployment) -> str:
    """Stops the containers of the deployment's images."""
    containers = [process.container for process in deployment.processes if process.container]
    images = dict.fromkeys(container.image for container in containers if container.image)
    return "\n".join(
        f"docker ps -q --filter ancestor={quote(image)} | xargs -r docker stop" for image in images
    )


def _program(argv: list[str]) -> str:
    """The first words of a command: enough to know it from another of the same interpreter."""
    return " ".join(itertools.takewhile(_PLAIN_WORD.fullmatch, argv[:3]))


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
    if kind == "rerank":
        documents = ["Berlin is the capital of Germany.", "The horse eats hay."]
        return "/v1/rerank", {"model": model, "query": "German capital", "documents": documents}
    if kind == "completions":
        prompt = "The capital of France is"
        return "/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 32}
    messages = [{"role": "user", "content": "Say hello in three languages."}]
    return "/v1/chat/completions", {"model": model, "messages": messages, "max_tokens": 128}


@lru_cache(maxsize=2048)
def _curl(url: str, kind: str, model: str, key: str | None) -> str:
    secret = [f'-H "Authorization: Bearer ${key}"'] if key else []
    if kind == "transcriptions":
        lines = [f"curl {_url(url, '/v1/audio/transcriptions')}", *secret]
        lines += [f"-F {quote(f'model={model}', True)}", f"-F file=@{_RECORDING}"]
        return " \\\n  ".join(lines)
    path, body = _first_request(kind, model)
    lines = [f"curl {_url(url, path)}", "-H 'Content-Type: application/json'", *secret]
    lines.append(f"-d {quote(json.dumps(body), True)}")
    return " \\\n  ".join(lines)


_RECORDING = "recording.wav"
"""The reader's own sound file: there is none that every machine has."""
_LOCAL = r"http://(?:localhost|127\.0\.0\.1):(?:8000|{port})(?=[/\s\"'])"
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./=-]+")
"""A word that a pattern of ``pkill`` matches as it stands."""
_PLAIN = re.compile(r"[A-Za-z0-9._/:@-]+")
_CLOSER = "The camera moves closer, slowly."
_IMAGE = "export IMAGE=/path/to/input.png\n\n"
_SCENE = "A paper boat drifts along a wet street."
_UNPACK = "jq -r '.data[0].b64_json' | base64 --decode > image.png"
_OMNI_TASKS = {
    "t2i": f"curl -sS {{url}}/v1/images/generations \\\n  -H 'Content-Type: application/json' \\\n"
    f'  -d \'{{{{"prompt": "{_SCENE}", "size": "1024x1024"}}}}\' |\n  {_UNPACK}',
    "i2i": f'{_IMAGE}curl -sS {{url}}/v1/images/edits \\\n  -F "image=@${{{{IMAGE}}}}" \\\n'
    f"  -F 'prompt=Make it evening.' |\n  {_UNPACK}",
    "t2v": f"curl -sS {{url}}/v1/videos/sync \\\n  -F 'prompt={_SCENE}' \\\n  -o video.mp4",
    "i2v": f"{_IMAGE}curl -sS {{url}}/v1/videos/sync \\\n"
    f'  -F "input_reference=@${{{{IMAGE}}}}" \\\n'
    f"  -F 'prompt={_CLOSER}' \\\n  -o video.mp4",
    "t2a": "curl -sS {url}/v1/audio/generate \\\n  -H 'Content-Type: application/json' \\\n"
    '  -d \'{{"input": "Waves on pebbles, a gull far away.", "audio_length": 10.0}}\' \\\n'
    "  -o audio.wav",
}
"""Requests of vLLM-Omni's task endpoints, for a task whose recipe has none of its own."""
_OMNI_TASKS["ti2v"] = _OMNI_TASKS["i2v"]


def omni_request(
    deployment: Deployment, url: str, model: str, key: str | None = None
) -> str | None:
    """The request example of the chosen task, aimed at the server as it is started.

    Args:
        deployment: An omni deployment; any other has no task.
        url: The server's address.
        model: Name under which the model is served.
        key: Name of the variable that holds the API key.
    """
    config = deployment.configuration
    task = config.task
    if task is None:
        return None
    there = task.hardware_overrides.get(config.hardware)
    text = (there.curl if there is not None else None) or task.curl
    if text is None:
        known = _OMNI_TASKS.get(task.id)
        if known is None:
            return None
        text = known.format(url=url)
    port = config.recipe.omni.port if config.recipe.omni else None
    text = re.sub(_LOCAL.format(port=port or 8000), lambda _: url, text.strip())
    if model != config.model_id and _PLAIN.fullmatch(model):
        named = f'"model": "{config.model_id}"'
        text = text.replace(named, f'"model": "{model}"')
    if key:
        text = re.sub(r"^curl ", f'curl -H "Authorization: Bearer ${key}" ', text, flags=re.M)
    return text


_CALLS = {
    "/v1/chat/completions": ("chat.completions", "choices[0].message.content"),
    "/v1/completions": ("completions", "choices[0].text"),
    "/v1/embeddings": ("embeddings", "data[0].embedding[:4]"),
}


@lru_cache(maxsize=2048)
def _python(url: str, kind: str, model: str, key: str | None) -> str:
    secret = f"os.environ[{key!r}]" if key else "'unused'"
    address = f"os.path.expandvars({url + '/v1'!r})" if "$" in url else repr(url + "/v1")
    head = "import os\n\n" if key or "$" in url else ""
    client = (
        f"{head}from openai import OpenAI\n\nclient = OpenAI(base_url={address}, api_key={secret})"
    )
    return f"{client}\n{_python_call(kind, model)}"


def _python_call(kind: str, model: str) -> str:
    if kind == "transcriptions":
        return (
            f"with open({_RECORDING!r}, 'rb') as sound:\n"
            f"    answer = client.audio.transcriptions.create(model={model!r}, file=sound)\n"
            "print(answer.text)"
        )
    path, body = _first_request(kind, model)
    if kind == "rerank":  # OpenAI has no such endpoint; its client posts to any path.
        fields = "".join(f"        {name!r}: {value!r},\n" for name, value in body.items())
        return (
            "answer = client.post(\n    '/rerank',\n    cast_to=object,\n"
            f"    body={{\n{fields}    }},\n)\nprint(answer['results'])"
        )
    call, answer = _CALLS[path]
    given = "".join(f"    {name}={value!r},\n" for name, value in body.items())
    return f"answer = client.{call}.create(\n{given})\nprint(answer.{answer})"


def _bench(deployment: Deployment, url: str, model: str) -> str | None:
    config = deployment.configuration
    if config.rules.is_omni or _request_kind(config) not in {"chat", "completions"}:
        return None
    engine = deployment.first_engine
    trust = "--trust-remote-code" in engine.argv
    return _bench_text(url, engine.argv[2], model, trust, deployment.values.api_key_var)


@lru_cache(maxsize=2048)
def _bench_text(url: str, checkpoint: str, name: str, trust: bool, key: str | None) -> str:
    # The benchmark's own client takes its key from this variable alone.
    secret = f'OPENAI_API_KEY="${key}" ' if key else ""
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
    return secret + " \\\n  ".join(" ".join(map(quote, line)) for line in words)
