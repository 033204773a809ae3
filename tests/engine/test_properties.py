"""Any selection, however absurd, gives a valid configuration of the peer's whole catalog."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recipes_core.catalog.catalog import Catalog
from recipes_core.configuration import configure
from recipes_core.deployment import deploy
from recipes_core.link import json_query, page_query
from recipes_core.render.json import json_bytes, to_json
from recipes_core.selection import Selection

from .checks import bash_accepts, check_bash_argv, check_flags, check_sizes, shell_texts
from .strategies import asked

RELAXED = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@RELAXED
@given(data=st.data())
def test_any_selection_gives_a_valid_layout_and_flags(
    upstream: Catalog, data: st.DataObject
) -> None:
    recipe, selection = data.draw(asked(upstream))
    config = configure(upstream, recipe, selection)
    deployment = deploy(config)
    check_sizes(deployment)
    check_flags(deployment)
    for adjustment in config.adjustments:
        assert adjustment.reason


@settings(RELAXED, max_examples=60)
@given(data=st.data())
def test_bash_passes_on_exactly_the_argument_vector(upstream: Catalog, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(asked(upstream), min_size=1, max_size=6))
    check_bash_argv([deploy(configure(upstream, *one)) for one in drawn])


@settings(RELAXED, max_examples=40)
@given(data=st.data())
def test_bash_accepts_every_text(upstream: Catalog, data: st.DataObject) -> None:
    deployment = deploy(configure(upstream, *data.draw(asked(upstream))))
    bash_accepts(["\n".join(f"f{n}() {{\n{t}\n}}" for n, t in enumerate(shell_texts(deployment)))])


@RELAXED
@given(data=st.data())
def test_the_query_string_round_trips(upstream: Catalog, data: st.DataObject) -> None:
    _, selection = data.draw(asked(upstream))
    read = selection.with_(unread=())
    assert Selection.from_query(read.to_query()) == read


@RELAXED
@given(data=st.data())
def test_a_link_opens_the_same_configuration(upstream: Catalog, data: st.DataObject) -> None:
    config = configure(upstream, *data.draw(asked(upstream)))
    commands = [(p.argv, p.env) for p in deploy(config).processes]
    for query in (page_query(config), json_query(config)):
        again = configure(upstream, config.entry, query)
        lost = [a for a in again.adjustments if a.asked != a.got]
        assert not lost, (query, lost, config.selection)
        assert [(p.argv, p.env) for p in deploy(again).processes] == commands, query
        assert page_query(again) == page_query(config)


@settings(RELAXED, max_examples=100)
@given(data=st.data())
def test_json_is_plain_data_with_its_fixed_names(upstream: Catalog, data: st.DataObject) -> None:
    import json

    config = configure(upstream, *data.draw(asked(upstream)))
    deployment = deploy(config)
    document = to_json(config, deployment)
    assert json.loads(json_bytes(config, deployment)) == json.loads(json.dumps(document))
    assert document["schema_version"] == 1
    for axis, options in document["options"].items():
        for option in options:
            assert option["enabled"] == (option["reason"] is None), (axis, option)
        defaults = [option for option in options if option["default"]]
        single = axis not in {"features", "feature_modes", "pool_modes", "advanced"}
        assert not single or len(defaults) <= 1, (axis, defaults)
