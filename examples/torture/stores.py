"""Key-value stores of Python: each is opened, written in transactions of two keys, and read."""

import sys
from collections.abc import Callable
from pathlib import Path


class Lmdb:
    """LMDB: every commit is synced, unless `nosync` is asked for."""

    def __init__(self, path: Path, options: list[str]) -> None:
        import lmdb

        self.environment = lmdb.open(str(path), map_size=4 << 20, sync="nosync" not in options)

    def put(self, pairs: dict[bytes, bytes]) -> None:
        with self.environment.begin(write=True) as transaction:
            for key, value in pairs.items():
                transaction.put(key, value)

    def get(self, key: bytes) -> bytes | None:
        with self.environment.begin() as transaction:
            return transaction.get(key)


class LevelDb:
    """LevelDB: a batch is synced with `sync`."""

    def __init__(self, path: Path, options: list[str]) -> None:
        import plyvel

        self.db = plyvel.DB(str(path), create_if_missing=True, write_buffer_size=16 << 10)
        self.sync = "sync" in options

    def put(self, pairs: dict[bytes, bytes]) -> None:
        with self.db.write_batch(sync=self.sync) as batch:
            for key, value in pairs.items():
                batch.put(key, value)

    def get(self, key: bytes) -> bytes | None:
        return self.db.get(key)


class RocksDb:
    """RocksDB: a batch is synced with `sync`."""

    def __init__(self, path: Path, options: list[str]) -> None:
        import rocksdict

        options_of_db = rocksdict.Options(raw_mode=True)
        options_of_db.create_if_missing(True)
        options_of_db.set_write_buffer_size(64 << 10)
        self.db = rocksdict.Rdict(str(path), options_of_db)
        self.batch = lambda: rocksdict.WriteBatch(raw_mode=True)
        self.options = rocksdict.WriteOptions()
        self.options.sync = "sync" in options

    def put(self, pairs: dict[bytes, bytes]) -> None:
        batch = self.batch()
        for key, value in pairs.items():
            batch.put(key, value)
        self.db.write(batch, self.options)

    def get(self, key: bytes) -> bytes | None:
        return self.db.get(key)


class Dbm:
    """Python's `dbm`, by `dbm.gnu` or `dbm.dumb`. `sync` syncs it, and its directory, after each transaction."""

    def __init__(self, path: Path, options: list[str]) -> None:
        import importlib

        kind = "gnu" if "gnu" in options else "dumb"
        self.path = path
        self.db = importlib.import_module(f"dbm.{kind}").open(str(path), "c")
        self.sync = "sync" in options

    def put(self, pairs: dict[bytes, bytes]) -> None:
        for key, value in pairs.items():
            self.db[key] = value
        if self.sync:
            self.db.sync()
            import os

            for path in [self.path.parent, *self.path.parent.glob(self.path.name + "*")]:
                file = os.open(path, os.O_RDONLY)
                os.fsync(file)
                os.close(file)

    def get(self, key: bytes) -> bytes | None:
        return self.db.get(key)


STORES: dict[str, Callable] = {"lmdb": Lmdb, "leveldb": LevelDb, "rocksdb": RocksDb, "dbm": Dbm}


def opened(name: str, path: Path, options: list[str]):
    """The store, or an end that says which package is missing."""
    try:
        return STORES[name](path, options)
    except ImportError as error:
        print(f"{name} is not here: {error}")
        sys.exit(127)
