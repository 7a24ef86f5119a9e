from __future__ import annotations

import pytest

from skillopt.config.layers import apply_overrides, load_layers
from skillopt.config.origins import Origin
from skillopt.config.yaml_source import parse_document, read_document
from skillopt.errors import ConfigError

FILE = Origin("spec.yaml")


def test_each_value_knows_its_line():
    document = parse_document("a:\n  b: 1\n  c:\n    - x\n    - y\n", FILE)
    assert document.data == {"a": {"b": 1, "c": ["x", "y"]}}
    assert str(document.origin(("a", "b"))) == "spec.yaml:2"
    assert str(document.origin(("a", "c", 1))) == "spec.yaml:5"


def test_a_missing_value_is_located_at_its_parent():
    document = parse_document("a:\n  b: 1\n", FILE)
    assert str(document.origin(("a", "z"))) == "spec.yaml:1"
    assert str(document.origin(("z",))) == "spec.yaml"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("2:1", "2:1"),
        ("2:1:1", "2:1:1"),
        ("010", "010"),
        ("2026-11-18", "2026-11-18"),
        ("true", True),
        ("", None),
        ("null", None),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("'7'", "7"),
    ],
)
def test_scalars_follow_yaml_1_2(written, value):
    found = parse_document(f"key: {written}\n", FILE).data["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "spec.yaml:3: a is given twice (first on line 1); remove one"),
        ("t:\n  x: 1\n  x: 1\n", "spec.yaml:3: t.x is given twice (first on line 2)"),
        ("a: [1\nb: 2\n", "spec.yaml:2: not valid YAML"),
        ("a: 1\n\tb: 2\n", "spec.yaml:2: not valid YAML"),
        ("- a\n", "spec.yaml: holds ['a']; expected `key: value` lines"),
        ("a: 1\n---\nb: 2\n", "spec.yaml:2: not valid YAML"),
        ("a: !!python/name:os.system x\n", "spec.yaml:1: a: 'tag:yaml.org,2002:python/name"),
        ("a: &x\n  b: *x\n", "spec.yaml:2: a.b: the alias refers to itself"),
        ("1: x\n", "spec.yaml:1: the key '1' is not text; put it in quotes"),
        ("a: !!int x\n", "spec.yaml:1: a: 'x' does not fit its tag"),
        ("a: \x07\n", "spec.yaml: not valid YAML"),
    ],
)
def test_bad_yaml_names_file_and_line(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_document(text, FILE)
    assert message in str(caught.value)


def test_all_duplicate_keys_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        parse_document("a: 1\na: 2\nb: 1\nb: 2\n", FILE)
    assert len(str(caught.value).splitlines()) == 2


def test_a_file_that_is_not_utf_8_names_the_line(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError, match=r"spec\.yaml:2: byte 0xff is not UTF-8; save"):
        read_document(path)


def test_a_byte_order_mark_is_tolerated(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(path).data == {"a": 1}


def test_a_missing_spec_names_the_path(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: does not exist; expected a spec file"):
        load_layers(tmp_path / "nowhere.yaml")


def test_a_folder_is_not_a_spec(tmp_path):
    with pytest.raises(ConfigError, match="is a folder; give a spec file itself"):
        load_layers(tmp_path)


def test_extends_merges_mappings_and_the_child_wins(workspace):
    workspace.write("shared/root.yaml", "train: {seed: 1, batch_size: 2}\nlabels: {a: x}\n")
    workspace.write("shared/middle.yaml", "extends: root.yaml\ntrain:\n  batch_size: 3\n")
    child = workspace.write(
        "child.yaml", "extends: shared/middle.yaml\n\ntrain:\n  num_epochs: 9\nlabels: text\n"
    )
    document = load_layers(child)
    assert document.data == {
        "train": {"seed": 1, "batch_size": 3, "num_epochs": 9},
        "labels": "text",
    }
    assert str(document.origin(("train", "seed"))).endswith("root.yaml:1")
    assert str(document.origin(("train", "batch_size"))).endswith("middle.yaml:3")
    assert str(document.origin(("train", "num_epochs"))).endswith("child.yaml:4")
    assert ("labels", "a") not in document.origins


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.yaml": "extends: a.yaml\n"}, "a.yaml:1: extends: 'a.yaml' leads back to itself"),
        (
            {"a.yaml": "x: 1\nextends: b.yaml\n", "b.yaml": "extends: a.yaml\n"},
            "b.yaml:1: extends: 'a.yaml' leads back to itself (a.yaml -> b.yaml -> a.yaml)",
        ),
        ({"a.yaml": "extends: gone.yaml\n"}, "a.yaml:1: extends: 'gone.yaml' does not exist"),
        ({"a.yaml": "extends: [b.yaml]\n"}, "a.yaml:1: extends: ['b.yaml'] is not a file name"),
    ],
)
def test_extends_that_cannot_be_followed(workspace, files, message):
    for name, text in files.items():
        workspace.write(name, text)
    with pytest.raises(ConfigError) as caught:
        load_layers(workspace.folder / "a.yaml")
    assert message in str(caught.value)


def test_set_overrides_values_and_is_remembered_as_their_origin():
    document = parse_document("train:\n  seed: 1\n  batch_size: 2\n", FILE)
    changed = apply_overrides(document, ["train.seed=7", "split={ratio: 1:1}", "cache=off"])
    assert changed.data == {
        "train": {"seed": 7, "batch_size": 2},
        "split": {"ratio": "1:1"},
        "cache": "off",
    }
    assert str(changed.origin(("train", "seed"))) == "--set"
    assert str(changed.origin(("split", "ratio"))) == "--set"
    assert str(changed.origin(("train", "batch_size"))) == "spec.yaml:3"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.seed", "--set: 'train.seed' is not understood; write --set section.key=value"),
        ("=3", "--set: '=3' is not understood"),
        ("train..seed=3", "is not understood"),
        ("train.seed=[1", "--set train.seed:1: not valid YAML"),
        ("extends=b.yaml", "--set: extends cannot be set here"),
    ],
)
def test_a_bad_set_says_how_to_write_it(override, message):
    with pytest.raises(ConfigError) as caught:
        apply_overrides(parse_document("", FILE), [override])
    assert message in str(caught.value)
