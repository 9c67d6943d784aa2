"""Parquet files with a seal: a digest of the whole file, inside it.

Parquet has checksums for its pages and none for its footer, where names, types and places stand. A
flipped bit there can turn into other numbers without a word. Files of earlier releases have no seal
and are read as before.
"""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from limelight._core.files import read_regular

#: Two entries of the footer, so that no single flipped bit makes a sealed file look unsealed.
SEAL, SEALED = "limelight.seal", "limelight.sealed"
#: How the footer writes the key, and that a text of 64 bytes follows.
_KEY = SEAL.encode() + b"\x18\x40"
_BLANK = b"0" * 64


def sealed_bytes(table: pa.Table, compression: str = "snappy") -> bytes:
    """A table as the bytes of a sealed Parquet file; the same table gives the same bytes."""
    out = pa.BufferOutputStream()
    with pq.ParquetWriter(
        out, table.schema, compression=compression, write_page_checksum=True
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({SEALED: "sha256", SEAL: _BLANK.decode()})
    content = out.getvalue().to_pybytes()
    if content.count(_KEY + _BLANK) != 1:
        raise AssertionError("this version of pyarrow writes footers in another way")
    return content.replace(_KEY + _BLANK, _KEY + _digest(content))


def read_sealed(path: str | Path, most_rows: int | None = None) -> pa.Table:
    """The table of a Parquet file, its seal checked before anything is decoded.

    Args:
        path: The file.
        most_rows: Refuse a file that says it has more, before reading them.

    Raises:
        ValueError: When the seal is broken, or there are too many rows.
        OSError, pa.ArrowException: When it is no Parquet file, or cannot be read.
    """
    content = read_regular(path)
    if SEAL.encode() in content:
        _check(content)
    file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
    rows = file.metadata.num_rows
    if most_rows is not None and rows > most_rows:
        raise ValueError(f"{rows} rows instead of {most_rows}")
    return file.read()


def _check(content: bytes) -> None:
    """Refuse a file whose bytes are not those that were sealed."""
    at = content.rfind(_KEY) + len(_KEY)
    seal = content[at : at + len(_BLANK)]
    blank = content[:at] + _BLANK + content[at + len(_BLANK) :]
    if content.count(_KEY) != 1 or seal != _digest(blank):
        raise ValueError("its bytes are not those that were written")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
