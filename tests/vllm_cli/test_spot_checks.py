"""Ten flags and variables whose coming or going others wrote down, held against the tables.

Each case names where it was read. A release between two that were read may be the true one, so a
case fits where the source names no smaller release than the table's.
"""

from __future__ import annotations

import pytest

from recipes_core.vllm_cli import check_argv, versions
from recipes_core.vllm_cli.tables import data, option_spans, record_spans, release


def _life(name: str) -> tuple[str, str]:
    spans = record_spans(data()["env"][name]) if name[0] != "-" else option_spans()[name]
    return versions()[spans[0]], versions()[spans[-1]]


VLLM = "https://github.com/vllm-project/vllm"

CAME = [
    # PR 26315 turned the attention variables into AttentionConfig; the peer's report of 2026-09-20
    # gives 0.13.0 as the first release.
    ("--attention-backend", "0.13.0", f"{VLLM}/pull/26315"),
    # PR 22772: one JSON flag in place of the guided ones.
    ("--structured-outputs-config", "0.11.0", f"{VLLM}/pull/22772"),
    # PR 23190 gave the encoder's data parallelism this name.
    ("--mm-encoder-tp-mode", "0.11.0", f"{VLLM}/pull/23190"),
    # PR 21739: requests are not logged unless asked for.
    ("--enable-log-requests", "0.10.1", f"{VLLM}/pull/21739"),
    # PR 21470: --runner and --convert in place of --task.
    ("--runner", "0.10.1", f"{VLLM}/pull/21470"),
]

WENT = [
    # PR 36216; somebody installed every release from 0.15.0 to 0.29.0 and found it in 0.17.1 last.
    ("--swap-space", "0.17.1", "0.18.0", "https://github.com/unslothai/unsloth-zoo/issues/1210"),
    # PR 29326 removed what PR 22772 had deprecated.
    ("--guided-decoding-backend", "0.11.2", "0.12.0", f"{VLLM}/pull/29326"),
    # PR 28006, November 2025.
    ("--rope-scaling", "0.11.0", "0.11.1", f"{VLLM}/pull/28006"),
    # PR 17452 deprecated it; a reader of issue 18538 met the refusal with 0.10.0.
    ("--enable-reasoning", "0.9.2", "0.10.0", f"{VLLM}/issues/18538"),
    # PR 28204, the last trace of the V0 engine's switch.
    ("VLLM_USE_V1", "0.11.0", "0.11.1", f"{VLLM}/pull/28204"),
]


@pytest.mark.parametrize(("name", "first", "source"), CAME, ids=[case[0] for case in CAME])
def test_the_release_that_brought_it(name: str, first: str, source: str) -> None:
    assert _life(name)[0] == first, source
    before = versions()[versions().index(first) - 1]
    spelled = [name, "{}"] if name.endswith("config") else [name]
    found = check_argv(["vllm", "serve", "m", *spelled], {}, before)
    message = next(f.message for f in found if f.code == "unknown-flag")
    assert f"it comes with {first} ({before} lacks it)" in message


@pytest.mark.parametrize(("name", "last", "gone", "source"), WENT, ids=[case[0] for case in WENT])
def test_the_release_that_removed_it(name: str, last: str, gone: str, source: str) -> None:
    assert _life(name)[1] == last, source
    assert versions()[versions().index(last) + 1] == gone
    argv = ["vllm", "serve", "m", *([name] if name[0] == "-" else [])]
    env = {} if name[0] == "-" else {name: "1"}
    codes = {"unknown-flag", "unknown-variable"}
    message = next(f.message for f in check_argv(argv, env, gone) if f.code in codes)
    assert f"removed: {last} still had it, {gone} does not" in message
    assert not [f for f in check_argv(argv, env, last) if f.code in codes]


def test_a_flag_that_came_back_as_the_inverse_of_another() -> None:
    # The peer's report of 2026-09-20 calls it removed in 0.17.0; 0.33.0 gives every --enable-x a
    # --disable-x (EnableDisableAction in vllm/utils/argparse_utils.py).
    flat = option_spans()["--disable-log-requests"]
    assert [versions()[i] for i in flat] == ["0.8.5", "0.16.0", "0.33.0", "0.33.0"]
    found = check_argv(["vllm", "serve", "m", "--disable-log-requests"], {}, "0.28.0")
    assert "it comes back with 0.33.0" in found[0].message
    assert "--disable-log-requests" in release(len(versions()) - 1).options
