"""What a manifest may hold: its shape, its hash and its seal, checked before any of it is used."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

#: Format 1 named the parts of a study by import path; both are read.
FORMAT, READ = 2, (1, 2)
#: Bytes of a manifest, levels of nesting, and trials of a study at most.
MOST_BYTES, DEEPEST, MOST_ROWS = 64 * 2**20, 60, 10**10

_WORDS = ("created", "commit", "paper", "figure", "scale", "command")
_SCALARS = (str, int, float, bool, type(None))


class Broken(ValueError):
    """What is wrong with a manifest, in words."""


def digest(value: Any) -> str:
    """The hash of plain JSON, whatever the order of its entries."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with a digest of all of it, so that a later edit is noticed."""
    return {**manifest, "seal": digest(dict(manifest))}


def read_json(text: str | bytes) -> Any:
    """Plain JSON from a file that may be hostile: no key twice, not too deep.

    Raises:
        Broken: For anything else.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except Broken:
        raise
    except RecursionError:
        raise Broken("it is nested too deeply") from None
    except ValueError as error:  # not JSON, not UTF-8, a number of too many digits
        raise Broken(f"it is not JSON ({str(error).splitlines()[0][:60]})") from None
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Refuse nesting beyond what a study can have; whatever walks the value later may recurse."""
    level = [value]
    for _ in range(DEEPEST):
        level = [item for one in level for item in _inside(one)]
        if not level:
            return
    raise Broken("it is nested too deeply")


def check_manifest(value: Any) -> dict[str, Any]:
    """A manifest as it was written, or what is wrong with it.

    Its hash must be that of its configuration. Its seal must be that of all the rest; those of
    earlier releases, which list no chunks, may have none.

    Raises:
        Broken: In words.
    """
    manifest = _mapping(value, "it")
    if manifest.get("format") not in READ or isinstance(manifest["format"], bool):
        raise Broken(f"its format is {manifest.get('format')!r:.20}, this version reads {READ}")
    for name in _WORDS:
        _need(isinstance(manifest.get(name, ""), str), f"{name} is not text")
        # a command names folders as they are; it is written out wherever it is shown
        plain = name == "command" or manifest.get(name, "").isprintable()
        _need(plain, f"{name} has characters that cannot be printed")
    settings = _mapping(manifest.get("settings", {}), "settings")
    _need(all(isinstance(text, str) for text in settings.values()), "settings are not text")
    inputs = _mapping(manifest.get("inputs", {}), "inputs")
    _need(all(isinstance(text, str) for text in inputs.values()), "inputs are not digests")
    chunks = manifest.get("chunks", [])
    counts = isinstance(chunks, list) and all(type(c) is int and c >= 0 for c in chunks)
    _need(counts, "chunks are not numbers")
    for name in ("seconds", "compile_seconds", "compilations"):
        spent = manifest.get(name) or 0  # where it is not known, none or nothing
        _need(type(spent) in (int, float) and 0 <= spent < math.inf, f"{name} is not a number")
    for name in ("versions", "device"):
        _mapping(manifest.get(name, {}), name)
    configuration = _mapping(manifest.get("configuration"), "configuration")
    _check_configuration(configuration)
    _need(sum(chunks) <= planned_rows(configuration), "it plans more chunks than trials")
    _need(
        manifest.get("hash") == digest(configuration), "its configuration is not that of its hash"
    )
    _need("seal" in manifest or "chunks" not in manifest, "its seal is gone")
    if "seal" in manifest:
        rest = {name: entry for name, entry in manifest.items() if name != "seal"}
        _need(manifest["seal"] == digest(rest), "it was edited after it was written")
    _agree(manifest, configuration)
    return manifest


def planned_rows(configuration: Mapping[str, Any]) -> int:
    """Trials that a study is to have."""
    return math.prod(len(values) for _, values in configuration["axes"]) * configuration["trials"]


def _check_configuration(configuration: dict[str, Any]) -> None:
    _mapping(configuration.get("experiment"), "experiment")
    for name, least in (("trials", 1), ("width", 1), ("seed", 0), ("revision", 0)):
        count = configuration.get(name)
        _need(type(count) is int and count >= least, f"{name} is not a whole number")
    _need(configuration["seed"] < 2**32, "seed is not a whole number of 32 bits")
    _need(isinstance(configuration.get("name"), str), "name is not text")
    _mapping(configuration.get("numerics", {}), "numerics")
    axes = configuration.get("axes")
    _need(isinstance(axes, list), "axes are not a list")
    names = [name for axis in axes or [] for name in _check_axis(axis)]
    _need(len(set(names)) == len(names), "an axis occurs twice")
    shared = configuration.get("shared")
    _need(isinstance(shared, list) and set(map(str, shared)) <= set(names), "shared are not axes")
    _need(planned_rows(configuration) <= MOST_ROWS, f"it plans more than {MOST_ROWS:g} trials")


def _check_axis(axis: Any) -> list[str]:
    """One axis: its paths and its values, as many in each as there are paths."""
    _need(isinstance(axis, list) and len(axis) == 2, "an axis is not paths and values")
    paths, values = axis
    named = isinstance(paths, list) and paths and all(isinstance(path, str) for path in paths)
    _need(named, "an axis has no name")
    _need(isinstance(values, list) and values, f"axis {paths[0]:.40} has no values")
    for value in values:
        point = [value] if len(paths) == 1 and not isinstance(value, list) else value
        fits = isinstance(point, list) and len(point) == len(paths)
        _need(
            fits and all(isinstance(one, _SCALARS) for one in point),
            f"axis {paths[0]:.40} has a value that is no number or word",
        )
    return paths


def _agree(manifest: dict[str, Any], configuration: dict[str, Any]) -> None:
    """What is said twice must be the same; so an edit of one is noticed without a seal."""
    if "paper" in manifest:
        name = f"{manifest['paper']}/{manifest.get('figure')}"
        _need(
            configuration["name"] == name, f"its study is {configuration['name']:.40}, not {name}"
        )
    if "seed" in manifest:
        same = type(manifest["seed"]) is int and manifest["seed"] == configuration["seed"]
        _need(same, "it names two seeds")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _mapping(value: Any, name: str) -> dict[str, Any]:
    _need(isinstance(value, dict), f"{name} is not a mapping")
    return value


def _need(true: Any, otherwise: str) -> None:
    if not true:
        raise Broken(otherwise)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Broken("a key occurs twice")
    return found
