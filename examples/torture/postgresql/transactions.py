"""Sends transactions to psql, and marks each when psql says that it is committed."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from acknowledge import mark

client = subprocess.Popen(
    ["psql", "-h", sys.argv[1], "-U", "postgres", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)


def run(sql: str, name: str) -> None:
    client.stdin.write(f"{sql}\n\\echo {name}\n")
    client.stdin.flush()
    if client.stdout.readline().strip() != name:
        sys.exit(f"{sql} failed")


run(
    "BEGIN; CREATE TABLE rows (number int PRIMARY KEY, padding text); CREATE TABLE sums (sum bigint); "
    "INSERT INTO sums VALUES (0); COMMIT;",
    "0",
)
mark("0")
for number in range(1, int(os.environ.get("TRANSACTIONS", "20")) + 1):
    run(
        f"BEGIN; INSERT INTO rows VALUES ({number}, repeat('x', 1500)); UPDATE sums SET sum = sum + {number}; "
        f"UPDATE rows SET padding = repeat('y', 1500) WHERE number % 5 = {number % 5}; COMMIT;",
        str(number),
    )
    mark(str(number))
    if number % 6 == 0:
        run("CHECKPOINT;", "checkpoint")
