"""The reader's own values in an engine's process: model, secrets by variable, cache folder."""

from __future__ import annotations

from recipes_core.deployment.model import Process, ReaderValues
from recipes_core.flags import Provenance

SECRETS = (("hf_token_var", "HF_TOKEN"), ("api_key_var", "VLLM_API_KEY"))
"""A field of the values, and the variable that vLLM reads."""


def apply_values(process: Process, values: ReaderValues) -> None:
    """Put what the reader gave into an engine's process; a secret stays the name of a variable."""
    if values.model_path:
        process.argv[2] = values.model_path
        process.typed |= {values.model_path, f"{values.model_path}:{values.model_path}:ro"}
    for field, name in SECRETS:
        variable = getattr(values, field)
        if variable:
            process.env[name] = f"${variable}"
            process.env_from[name] = Provenance("reader", "reader", field)
    if values.cache_folder:
        process.local_env["HF_HOME"] = values.cache_folder
        process.typed |= {f"{values.cache_folder}:/root/.cache/huggingface"}
