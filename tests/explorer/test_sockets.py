"""Each message of a kernel is on its way at once, wherever we start the server."""

from __future__ import annotations

import json

import pytest
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

from recipes_core.explorer import launch
from recipes_core.explorer.sockets import PromptConnection
from tests.conftest import REPO


def test_a_connection_turns_nagles_algorithm_off_before_it_says_anything(monkeypatch):
    done = []

    class Handler:
        def set_nodelay(self, value):
            done.append(("nodelay", value))

    monkeypatch.setattr(
        ZMQChannelsWebsocketConnection, "connect", lambda _: done.append("connected")
    )
    connection = PromptConnection.__new__(PromptConnection)
    monkeypatch.setattr(PromptConnection, "websocket_handler", Handler())
    assert connection.connect() is None
    assert done == [("nodelay", True), "connected"]


def test_the_dashboard_uses_it():
    app = launch.make_app(port=0)
    app.load_config_file("voila", path=app.config_file_paths)
    assert app.kernel_websocket_connection_class is PromptConnection


def test_voila_inside_jupyter_server_uses_it():
    settings = json.loads((REPO / "binder" / "jupyter_server_config.json").read_text())
    assert settings["ServerApp"]["kernel_websocket_connection_class"] == launch.CONNECTION


@pytest.mark.parametrize(
    ("arguments", "environment", "ours"),
    [
        ((), {}, True),
        (("--port=9",), {}, True),
        (("--gateway-url=http://elsewhere",), {}, False),
        ((), {launch.GATEWAY_VARIABLE: "http://elsewhere"}, False),
    ],
)
def test_lab_uses_it_unless_its_kernels_run_elsewhere(monkeypatch, arguments, environment, ours):
    commands = []

    class Done:
        returncode = 0

    def run(command, check):
        commands.append(command)
        return Done()

    monkeypatch.setattr(launch.subprocess, "run", run)
    monkeypatch.delenv(launch.GATEWAY_VARIABLE, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert launch.lab(arguments) == 0
    assert any(launch.CONNECTION in word for word in commands[0]) is ours
    assert commands[0][len(commands[0]) - len(arguments) :] == list(arguments)
