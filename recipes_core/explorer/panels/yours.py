"""Your cluster: addresses, variables, folders and hardware, entered once, used everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recipes_core.explorer.machine import this_machine
from recipes_core.explorer.values import VALUE_FIELDS, make_values, read_choice
from recipes_core.explorer.widgets import Kit, escape

if TYPE_CHECKING:
    from recipes_core.explorer.frontend import Page
    from recipes_core.explorer.state import ExplorerState

FIELDS: dict[str, tuple[str, str, str]] = {
    "model_path": ("Local model", "/models/…", "folder or mirror of this checkpoint"),
    "cache_folder": ("Cache folder", "~/.cache/huggingface", "of downloaded checkpoints"),
    "hf_token_var": ("Variable of the Hugging Face token", "HF_TOKEN",
                     "the variable's name, never the token"),
    "api_key_var": ("Variable of the API key", "VLLM_API_KEY",
                    "the variable's name, never the key"),
}  # fmt: skip
SERVER: dict[str, tuple[str, str, str]] = {
    "served_name": ("Served name", "", "what requests call this model"),
    "host": ("Listen on", "0.0.0.0", "address of the HTTP server"),  # noqa: S104
    "port": ("Port", "8000", "of the HTTP server"),
}


class YoursPanel:
    """The reader's own values and hardware."""

    def __init__(self, kit: Kit, state: ExplorerState, page: Page) -> None:
        self.state, self.page = state, page
        self.hardware = kit.form(self._own)
        self.machine = kit.button("Use this machine's GPUs", self._this_machine)
        self.told = kit.html()
        self.server = kit.form(self._server)
        self.values = kit.form(self._value)
        self.keep = kit.button("Download as a file", self._download)
        self.forget = kit.button("Forget all", state.forget, "rx-quiet")
        self.file = kit.form(self._file)
        self.found = ""
        self.box = kit.box(
            [
                kit.html('<h3 class="rx-h3">Hardware of your own</h3>'),
                self.hardware,
                self.machine,
                self.told,
                kit.html('<h3 class="rx-h3">Server</h3>'),
                self.server,
                kit.html(
                    '<h3 class="rx-h3">Addresses, folders, variables</h3><p class="rx-source">Kept'
                    " for this session with the hardware and the server above, filled into every"
                    " command, and all in the file. Never type a secret: commands name the variable"
                    " that holds it.</p>"
                ),
                self.values,
                kit.box([self.keep, self.forget], "rx-row"),
                self.file,
            ],
            "rx-panel",
        )

    def refresh(self) -> None:
        """Show the values, with a field for each placeholder of the deployment."""
        state = self.state
        config, deployment = state.configuration, state.deployment
        if config is None or deployment is None:
            return
        asked, values = config.selection, state.values
        own = state.kept.hardware or ""
        self.hardware.fields = [
            {"name": "hardware", "kind": "text", "label": "GPUs of one node", "value": own,
             "placeholder": "8xA100-80GB, 4xL40S, 2xRTX 4090",
             "hint": "count × name, and GB where a card is sold in several sizes"},
            _field("nodes", "Nodes like this", "1", "as many as a model needs are taken of them",
                   state.kept.nodes),
        ]  # fmt: skip
        self.told.value = f'<p class="rx-source" role="status">{escape(self.found)}</p>'
        self.server.fields = [_field(name, *SERVER[name], getattr(asked, name)) for name in SERVER]
        fields = [_field(name, *FIELDS[name], getattr(values, name)) for name in FIELDS]
        names = {item.name: item.hint for item in deployment.placeholders}
        names |= {name: "kept from another configuration" for name in values.placeholders
                  if name not in names}  # fmt: skip
        fields += [
            _field(f"${name}", f"${name}", "", hint, values.placeholders.get(name))
            for name, hint in names.items()
        ]
        self.values.fields = fields
        self.file.fields = [
            {"name": "file", "kind": "area", "label": "Paste a file of values kept earlier",
             "value": "", "rows": 3, "hint": ""},
        ]  # fmt: skip

    # --- hardware ---------------------------------------------------------------------------

    def _own(self, name: str, text: str) -> None:
        state = self.state
        if name == "nodes":
            nodes = read_choice("nodes", text)
            if state.kept.hardware is None:
                state.ask(nodes=nodes)
            else:
                state.keep_nodes(nodes)
                state.ask(hardware=state.kept.hardware, nodes=nodes)
        elif text.strip():
            self._ask_hardware(text.strip())
        else:
            state.drop_hardware()

    def _ask_hardware(self, text: str) -> None:
        self.state.ask_hardware(self.state.keep_hardware(text))

    def _this_machine(self) -> None:
        found = this_machine(self.state.catalog)
        self.found = found.text
        self.refresh()
        if found.hardware is not None:
            self._ask_hardware(found.hardware)

    # --- server -----------------------------------------------------------------------------

    def _server(self, name: str, text: str) -> None:
        self.state.ask(**{name: read_choice(name, text)})

    # --- values -----------------------------------------------------------------------------

    def _value(self, name: str, text: str) -> None:
        values = self.state.values
        placeholders: dict[str, object] = dict(values.placeholders)
        fields: dict[str, object] = {key: getattr(values, key) for key in VALUE_FIELDS}
        if name.startswith("$"):
            placeholders[name[1:]] = text
        else:
            fields[name] = text
        self.state.set_values(make_values(placeholders, fields))

    def _download(self) -> None:
        self.page.download("recipes-values.json", self.state.values_text(), "application/json")

    def _file(self, _: str, text: str) -> None:
        if text.strip():
            self.state.read_values(text)


def _field(name: str, label: str, placeholder: str, hint: str, value: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "text",
        "label": label,
        "placeholder": placeholder,
        "hint": hint,
        "value": "" if value is None else str(value),
    }
