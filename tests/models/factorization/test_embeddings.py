from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.models.factorization.embeddings import Embeddings, import_npy

BACKGROUND = Quadruples.from_rows([(0, 0, 1, 3)])


def _embeddings() -> Embeddings:
    random = np.random.default_rng(0)
    entity = random.normal(size=(3, 4)).astype(np.float32)
    entity[2] = 0
    trained = np.array([True, True, False])
    return Embeddings(entity, random.normal(size=(2, 4)).astype(np.float32), trained, {"origin": "here", "seed": 7})


def test_embeddings_survive_save_and_load(tmp_path: Path) -> None:
    before = _embeddings()
    before.save(tmp_path / "file.safetensors")
    after = Embeddings.load(tmp_path / "file.safetensors")
    assert after == before
    assert after.about == before.about
    assert (after.entity.dtype, after.relation.dtype, after.trained.dtype) == (np.float32, np.float32, np.bool_)


def test_equal_embeddings_give_equal_files_without_leftovers(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _embeddings().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no"):
        _embeddings().save(tmp_path / "file")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_changed_bit_is_detected(tmp_path: Path) -> None:
    file = tmp_path / "file.safetensors"
    _embeddings().save(file)
    content = bytearray(file.read_bytes())
    content[-8] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"file\.safetensors: "):
        Embeddings.load(file)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x80\x04N.", b"\xff" * 64])
def test_foreign_file_is_rejected_with_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file.safetensors"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"file\.safetensors: cannot be read ") as caught:
        Embeddings.load(file)
    assert "\n" not in str(caught.value)


def test_foreign_safetensors_file_is_rejected(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"weights": np.zeros(3, np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match=r"other\.safetensors: cannot be read"):
        Embeddings.load(tmp_path / "other.safetensors")


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: is missing"):
        Embeddings.load(tmp_path / "nowhere")


def test_nonzero_untrained_row_raises() -> None:
    with pytest.raises(ValueError, match="untrained"):
        Embeddings(np.ones((1, 2), np.float32), np.ones((2, 2), np.float32), np.zeros(1, np.bool_))


def _import(folder: Path, entity: object, relation: object) -> Embeddings:
    files = folder / "entity.npy", folder / "relation.npy"
    for file, array in zip(files, (entity, relation), strict=True):
        np.save(file, np.asarray(array), allow_pickle=True)
    return import_npy(*files, BACKGROUND, 3, RelationIds(1))


def test_import_zeroes_rows_of_entities_without_facts(tmp_path: Path) -> None:
    entity, relation = np.arange(12.0, dtype=np.float32).reshape(3, 4), np.ones((2, 4), np.float32)
    embeddings = _import(tmp_path, entity, relation)
    assert embeddings.trained.tolist() == [True, True, False]
    assert np.array_equal(embeddings.entity[:2], entity[:2])
    assert not embeddings.entity[2].any()
    assert np.array_equal(embeddings.relation, relation)
    assert embeddings.about["origin"] == "imported"


@pytest.mark.parametrize(
    ("entity", "relation", "message"),
    [
        (np.zeros((2, 4)), np.zeros((2, 4)), r"entity\.npy: wrong shape; found 'shape \(2, 4\)'; expected \(3, d\)"),
        (np.zeros(3), np.zeros((2, 4)), r"entity\.npy: wrong shape; found 'shape \(3,\)'"),
        (np.zeros((3, 4)), np.zeros((1, 4)), r"relation\.npy: wrong shape; .* then one for each inverse"),
        (np.zeros((3, 4)), np.zeros((2, 6)), r"relation\.npy: wrong shape; found '6 columns'; expected 4"),
        (np.zeros((3, 5)), np.zeros((2, 5)), r"entity\.npy: wrong shape; found '5 columns'; expected d/2 real"),
        (np.zeros((3, 4), int), np.zeros((2, 4)), r"entity\.npy: wrong type; found 'dtype int64'; expected float32"),
        (np.full((3, 4), np.nan), np.zeros((2, 4)), r"entity\.npy: a number is not finite; found 'array row 0'"),
        (np.array([{}, {}, {}]), np.zeros((2, 4)), r"entity\.npy: cannot be read"),
    ],
)
def test_import_rejects_arrays_of_wrong_shape_or_type(
    tmp_path: Path, entity: object, relation: object, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _import(tmp_path, entity, relation)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"1 2 3\n", b"\x80\x04N."])
def test_import_rejects_files_that_are_not_arrays(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "entity.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"entity\.npy: cannot be read"):
        import_npy(tmp_path / "entity.npy", tmp_path / "entity.npy", BACKGROUND, 3, RelationIds(1))


def test_import_rejects_npz_archives(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", a=np.zeros(1))
    with pytest.raises(InputError, match=r"both\.npz: is an archive"):
        import_npy(tmp_path / "both.npz", tmp_path / "both.npz", BACKGROUND, 3, RelationIds(1))


def test_import_reports_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.npy: no such file"):
        import_npy(tmp_path / "nowhere.npy", tmp_path / "nowhere.npy", BACKGROUND, 3, RelationIds(1))
