"""The first request suits what a checkpoint answers: text, vectors, an order, a transcript."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Callable

import pytest

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import ReaderValues, deploy
from recipes_core.render.clients import Clients, clients_of

Make = Callable[..., Catalog]
PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "transcriptions": "/v1/audio/transcriptions",
}


def clients(one: Make, kind: str, **values: str) -> Clients:
    config = configure(one(model={"request": kind}), "org/m")
    return clients_of(deploy(config, ReaderValues(**values)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "path"), PATHS.items())
def test_each_kind_has_its_endpoint_and_python_that_parses(one: Make, kind: str, path: str) -> None:
    found = clients(one, kind, api_key_var="MY_KEY")
    words = shlex.split(found.curl.replace("\\\n", " "))
    assert words[:2] == ["curl", f"http://localhost:8000{path}"]
    assert "Authorization: Bearer $MY_KEY" in words
    assert found.python is not None
    ast.parse(found.python)
    assert (found.bench is not None) is (kind in {"chat", "completions"})


def test_a_transcription_uploads_a_file_as_a_form(one: Make) -> None:
    found = clients(one, "transcriptions")
    words = shlex.split(found.curl.replace("\\\n", " "))
    assert words[2:] == ["-F", "model=org/m", "-F", "file=@recording.wav"]
    assert "client.audio.transcriptions.create(model='org/m', file=sound)" in (found.python or "")


def test_the_name_of_a_model_stays_one_word(one: Make) -> None:
    found = clients(one, "transcriptions", model_path="/models/my model")
    assert "model=/models/my model" in shlex.split(found.curl.replace("\\\n", " "))


def test_a_rerank_request_is_json_with_a_query_and_documents(one: Make) -> None:
    found = clients(one, "rerank")
    words = shlex.split(found.curl.replace("\\\n", " "))
    body = json.loads(words[words.index("-d") + 1])
    assert sorted(body) == ["documents", "model", "query"]
    assert "cast_to=object" in (found.python or "")


@pytest.mark.parametrize(
    ("recipe", "path"),
    [
        ("Qwen/Qwen3-ASR-1.7B", PATHS["transcriptions"]),
        ("OpenMOSS-Team/MOSS-Transcribe-Diarize", PATHS["transcriptions"]),
        ("openai/whisper-large-v3", PATHS["transcriptions"]),
        ("zai-org/GLM-ASR-Nano-2512", PATHS["transcriptions"]),
        ("mistralai/Voxtral-Mini-4B-Realtime-2602", PATHS["transcriptions"]),
        ("jinaai/jina-reranker-m0", PATHS["rerank"]),
        ("pfnet/plamo-3-nict-31b-base", PATHS["completions"]),
    ],
)
def test_our_recipes_ask_what_their_model_answers(recipe: str, path: str, ours: Catalog) -> None:
    assert f"http://localhost:8000{path}" in clients_of(deploy(configure(ours, recipe))).curl
