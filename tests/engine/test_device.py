"""Where compiled programs are kept, how wide a chunk is, and values read from words."""

import dataclasses
import threading
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from limelight._core.errors import InputError
from limelight._engine import device
from limelight._engine.grid import read
from limelight._engine.run import Engine, patiently
from limelight._identity import code, objects
from limelight._identity.description import describe
from limelight._identity.inputs import files_read
from limelight.worlds import Patterns
from tests.cli.toy import Dice


@pytest.fixture
def fresh(monkeypatch):
    """No cache chosen yet; what is chosen is forgotten afterwards."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update(names[0], None)
    monkeypatch.delenv("LIMELIGHT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    yield monkeypatch
    for name, value in before.items():
        jax.config.update(name, value)


def test_programs_are_kept_where_caches_belong(fresh, tmp_path):
    fresh.setenv("HOME", str(tmp_path))
    assert device.use_cache() == tmp_path / ".cache" / "limelight" / "xla"
    assert jax.config.jax_compilation_cache_dir == str(device.use_cache())


def test_the_user_may_choose_the_place(fresh, tmp_path):
    fresh.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert device.use_cache() == tmp_path / "limelight" / "xla"
    jax.config.update("jax_compilation_cache_dir", "/chosen")
    assert str(device.use_cache()) == "/chosen"
    jax.config.update("jax_compilation_cache_dir", "")  # as JAX_COMPILATION_CACHE_DIR= does
    assert device.use_cache() is None


def test_nothing_is_kept_where_it_cannot_be(fresh, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    fresh.setenv("HOME", str(tmp_path / "file"))
    assert device.use_cache() is None

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    fresh.setattr(device.Path, "home", homeless)
    assert device.use_cache() is None
    fresh.setenv("LIMELIGHT_CACHE", "off")
    assert device.use_cache() is None
    assert jax.config.jax_compilation_cache_dir is None


@pytest.mark.parametrize(
    ("bytes_a_trial", "rows", "width"),
    [(1, 5, 5), (1, 10_000, 128), (10 * 2**20, 100, 8), (10 * 2**20, 12, 12), (2**40, 7, 1)],
)
def test_a_chunk_is_a_power_of_two_or_everything(bytes_a_trial, rows, width, monkeypatch):
    monkeypatch.setattr(device, "memory", lambda: 2**40)
    monkeypatch.setattr(jax, "local_device_count", lambda: 1)
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert device.chunk_width(bytes_a_trial, rows) == width


def test_words_that_a_setting_cannot_be():
    assert read(Patterns(), "noise", "none") is None
    with pytest.raises(InputError, match="relevant cannot be none"):
        read(Patterns(), "relevant", "none")

    @dataclasses.dataclass(frozen=True)
    class Whole:
        part: Patterns = dataclasses.field(default_factory=Patterns)

    with pytest.raises(InputError, match="part is not a single value") as raised:
        read(Whole(), "part", "1")
    assert "part.relevant" in raised.value.hint


def test_a_wrapper_of_itself_ends():
    class Endless:
        __wrapped__: Any

    endless = Endless()
    endless.__wrapped__ = endless
    assert objects.unwrapped(endless) is endless
    assert files_read(endless) == {}
    with pytest.raises(InputError, match="they hold themselves"):
        describe(endless)
    compiled = jax.jit(jax.jit(len))
    assert objects.unwrapped(compiled) is len


def test_fields_of_a_class_are_part_of_its_code():
    """What is said of a field stands in no attribute of the class."""

    def made(value, said):
        @dataclasses.dataclass
        class Part:
            x: list = dataclasses.field(default_factory=lambda: [value], metadata={"said": said})

        Part.__qualname__ = "Part"
        Part.__module__ = "theirs"
        return code.digests(Part)["theirs.Part"]

    assert made(1, "a") == made(1, "a")
    assert made(1, "a") != made(1, "b")


def test_a_chunk_that_moves_is_told_once():
    engine, told = object.__new__(Engine), []
    engine.progress = SimpleNamespace(under_way=0)
    engine._report = lambda: told.append(engine.progress.under_way)
    for finished in (0, 3, 3, 5):
        engine._tell(finished)
    assert told == [3, 5]


def test_a_stuck_chunk_does_not_keep_the_process_alive():
    assert patiently(lambda: threading.current_thread().daemon, 60.0, "a chunk") is True


def test_a_program_has_one_trial_at_least():
    assert len(Dice().sweep({"sides": [6.0]}, trials=2, width=1)) == 2
    with pytest.raises(InputError, match="width = 0"):
        Dice().sweep({"sides": [6.0]}, trials=2, width=0)


def test_short_runs_are_compiled_in_haste_and_compute_the_same(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    function = jax.jit(lambda x: jnp.tanh(x @ x.T).sum(0))
    x = jr.normal(jr.key(0), (8, 8))
    quick = function.lower(x).compile(device.in_haste(1.0))
    np.testing.assert_allclose(quick(x), np.tanh(np.asarray(x) @ np.asarray(x).T).sum(0), 1e-5)


def test_long_runs_and_the_users_own_level_are_left_alone(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert device.in_haste(1.0) is not None
    assert device.in_haste(10 * device.SHORT) is None
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=3")
    assert device.in_haste(1.0) is None


def test_a_short_run_on_a_gpu_draws_by_a_kernel_unless_the_user_chose_otherwise(fresh):
    """Read off a program lowered for a GPU, which takes no GPU."""
    draw = lambda key: jax.random.normal(key, (5,)) + jax.random.uniform(jax.random.fold_in(key, 1))

    def lowered(seconds):
        device.draw_by_kernel(seconds)
        jax.clear_caches()
        return jax.jit(draw).trace(jax.random.key(0)).lower(lowering_platforms=("cuda",)).as_text()

    asked = "jax_threefry_gpu_kernel_lowering"
    fresh.delenv(asked.upper(), raising=False)
    try:
        written_out = lowered(1.0)  # no GPU here
        fresh.setattr(device, "on_gpu", lambda: True)
        fresh.setenv(asked.upper(), "0")
        assert lowered(1.0) == written_out
        fresh.delenv(asked.upper())
        short = lowered(1.0)
        assert "threefry2x32_ffi" in short
        assert written_out.count("stablehlo.xor") > 3 * short.count("stablehlo.xor")
        assert lowered(2 * device.SHORT) == written_out
        jax.config.update(asked, True)  # by the user, from here on
        assert lowered(2 * device.SHORT) == short
    finally:
        device._drawn[0] = False
        jax.config.update(asked, False)
