"""Which of its two model runners a vLLM release takes, read in `config/vllm.py` of each release."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from recipes_core.sizing.architecture import Architecture

_DRAFTS = frozenset(("eagle", "eagle3", "mtp"))
_LATER_DRAFTS = _DRAFTS | {"dflash", "dspark"}
_FLAGS = frozenset(
    (
        "--enable-dbo",
        "--enable-elastic-ep",
        "--kv-sharing-fast-prefill",
        "--logits-processors",
        "--enable-prompt-embeds",
        "--ec-transfer-config",
        "--logprobs-mode",
    )
)
_MOE = frozenset(("DeepseekV2ForCausalLM", "Qwen2MoeForCausalLM", "GraniteMoeForCausalLM"))
_MOE_026 = _MOE | {
    "InklingForCausalLM",
    "InklingForConditionalGeneration",
    "LongcatFlashNgramForCausalLM",
}
_DENSE_023 = frozenset(("LlamaForCausalLM", "MistralForCausalLM", "Qwen3ForCausalLM"))


@dataclass(frozen=True, slots=True)
class RunnerRule:
    """When a release takes the V2 runner by itself.

    Args:
        classes: Model classes that run on it.
        dense: Every other dense model with full attention does, too.
        every: All models do.
        plain: Only 16-bit checkpoints without experts.
        named_hybrids: A hybrid in ``classes`` does; before, no hybrid did.
        drafts: Speculative methods that it knows; None where ``not_drafts`` says.
        not_drafts: Speculative methods that it lacks.
        lacks: Flags that it lacks.
    """

    classes: frozenset[str] = frozenset()
    dense: bool = False
    every: bool = False
    plain: bool = False
    named_hybrids: bool = False
    drafts: frozenset[str] | None = _LATER_DRAFTS
    not_drafts: frozenset[str] = frozenset()
    lacks: frozenset[str] = _FLAGS


_WEAK_DRAFTS = frozenset(("suffix", "medusa", "mlp_speculator", "custom_class"))
_NGRAM = frozenset(("ngram", "ngram_gpu"))
_RULES: tuple[tuple[Version, RunnerRule], ...] = (
    (
        Version("0.33.0"),
        RunnerRule(
            every=True,
            drafts=None,
            not_drafts=frozenset(("suffix", "custom_class")),
            lacks=frozenset(("--enable-dbo",)),
        ),
    ),
    (
        Version("0.32.0"),
        RunnerRule(
            every=True, drafts=None, not_drafts=_WEAK_DRAFTS, lacks=frozenset(("--enable-dbo",))
        ),
    ),
    (
        Version("0.31.0"),
        RunnerRule(
            every=True,
            drafts=None,
            not_drafts=_WEAK_DRAFTS | _NGRAM,
            lacks=frozenset(("--enable-dbo", "--enable-elastic-ep")),
        ),
    ),
    (
        Version("0.30.0"),
        RunnerRule(
            every=True,
            drafts=None,
            not_drafts=_WEAK_DRAFTS | _NGRAM | {"draft_model"},
            lacks=frozenset(("--enable-dbo", "--enable-elastic-ep", "--logits-processors")),
        ),
    ),
    (
        Version("0.29.0"),
        RunnerRule(
            every=True,
            drafts=_LATER_DRAFTS | {"extract_hidden_states"},
            lacks=_FLAGS - {"--enable-prompt-embeds", "--ec-transfer-config", "--logprobs-mode"},
        ),
    ),
    (
        Version("0.28.0"),
        RunnerRule(
            classes=_MOE_026 | {"KimiK3ForConditionalGeneration", "DeepseekV4ForCausalLM"},
            dense=True,
            named_hybrids=True,
            lacks=_FLAGS - {"--ec-transfer-config", "--logprobs-mode"},
        ),
    ),
    (
        Version("0.27.0"),
        RunnerRule(
            classes=_MOE_026 | {"KimiK3ForConditionalGeneration"}, dense=True, named_hybrids=True
        ),
    ),
    (Version("0.26.0"), RunnerRule(classes=_MOE_026, dense=True)),
    (Version("0.25.0"), RunnerRule(classes=_MOE, dense=True)),
    (Version("0.24.0"), RunnerRule(classes=_MOE | _DENSE_023)),
    (Version("0.23.0"), RunnerRule(classes=_DENSE_023, plain=True, drafts=_DRAFTS)),
    (
        Version("0.22.0"),
        RunnerRule(classes=frozenset(("Qwen3ForCausalLM",)), plain=True, drafts=_DRAFTS),
    ),
)


def runner_rule(release: Version) -> RunnerRule | None:
    """The rule of a release, None where V1 runs everything.

    Args:
        release: Without its pre-release part.
    """
    return next((rule for since, rule in _RULES if release >= since), None)


def takes_v2(
    rule: RunnerRule | None, arch: Architecture, draft: str | None, flags: frozenset[str]
) -> bool:
    """Whether a model runs on the V2 runner by itself.

    Args:
        rule: The release's.
        arch: The model.
        draft: Speculative method, if any.
        flags: Flags of the command that some release's V2 runner lacks.
    """
    if rule is None or flags & rule.lacks:
        return False
    if draft and (
        draft in rule.not_drafts or (rule.drafts is not None and draft not in rule.drafts)
    ):
        return False
    if rule.every:
        return True
    named = arch.name in rule.classes
    if rule.plain and (arch.is_moe or arch.quant_method is not None):
        return False
    if (arch.is_hybrid and not (named and rule.named_hybrids)) or not arch.attention:
        return False
    return named or (rule.dense and not arch.is_moe)
