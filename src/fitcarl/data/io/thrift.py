"""Reads structures of the Thrift compact protocol, in which Parquet files describe themselves."""

from __future__ import annotations

import struct
from mmap import mmap
from typing import Any

_MAX_DEPTH = 16
_MAX_VARINT_BYTES = 10
_BOOLEAN_TRUE, _BOOLEAN_FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


class ThriftReader:
    """Reads one structure after the other; every length is compared with the bytes that are left.

    Args:
        content: Bytes that contain structures.
        position: Where the next one starts.
        end: Where the bytes end.
    """

    def __init__(self, content: bytes | mmap, position: int, end: int) -> None:
        self.content, self.position, self.end = content, position, end

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields of a structure, by number.

        Args:
            depth: Structures and lists around this one.

        Raises:
            ValueError: If the bytes are not a structure.
        """
        if depth > _MAX_DEPTH:
            raise ValueError("too deep a structure")
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 15
            number = number + delta if delta else self._integer()
            is_boolean = kind in (_BOOLEAN_TRUE, _BOOLEAN_FALSE)
            fields[number] = kind == _BOOLEAN_TRUE if is_boolean else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _STRUCT:
            return self.read_struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _MAP:
            return self._map(depth + 1)
        if kind == _DOUBLE:
            return struct.unpack("<d", self._bytes(8))[0]
        if kind in (_BOOLEAN_TRUE, _BOOLEAN_FALSE, _BYTE):  # a boolean in a list is a byte
            return self._byte()
        raise ValueError(f"a value of the unknown type {kind}")

    def _list(self, depth: int) -> list[Any]:
        header = self._byte()
        size, kind = header >> 4, header & 15
        size = self._size(self._varint() if size == 15 else size)
        if depth > _MAX_DEPTH:
            raise ValueError("too deep a structure")
        return [self._value(kind, depth) for _ in range(size)]

    def _map(self, depth: int) -> dict[Any, Any]:
        size = self._size(self._varint())
        kinds = self._byte() if size else 0
        if depth > _MAX_DEPTH:
            raise ValueError("too deep a structure")
        pairs = [(self._value(kinds >> 4, depth), self._value(kinds & 15, depth)) for _ in range(size)]
        return {str(key): value for key, value in pairs}

    def _size(self, count: int) -> int:
        if count > self.end - self.position:
            raise ValueError("a list that is longer than its file")
        return count

    def _integer(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def _varint(self) -> int:
        value = 0
        for place in range(_MAX_VARINT_BYTES):
            byte = self._byte()
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return value
        raise ValueError("a number with too many digits")

    def _byte(self) -> int:
        if self.position >= self.end:
            raise ValueError("an incomplete structure")
        self.position += 1
        return self.content[self.position - 1]

    def _bytes(self, count: int) -> bytes:
        if count > self.end - self.position:
            raise ValueError("a text that is longer than its file")
        self.position += count
        return self.content[self.position - count : self.position]
