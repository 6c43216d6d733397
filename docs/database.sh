#!/bin/sh
# SQLite and PostgreSQL on ext4 on a served drive, under each FTL named: what write amplification they cause, and whether
# they come up again after the plug was pulled in the middle of their transactions. docs/results/database.md says what it does and
# what it printed. Needs root, for loop devices and mounts; listens on sockets of a folder of its own alone.
#
#   docs/database.sh [FTL...]           page geckoftl dftl unless others are named
#   PHELSUMA=target/release/phelsuma SIZE=192MiB RATIO=0.85 TRANSACTIONS=2000 RECORD=FILE.csv.zst docs/database.sh page
set -eu

for word in "$@"; do
	case $word in -*)
		sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
		echo "About half a minute for each FTL on a machine that does nothing else. Files are in TMPDIR, /tmp by default."
		[ "$word" = -h ] || [ "$word" = --help ] || exit 2
		exit 0
	esac
done

PHELSUMA=${PHELSUMA:-phelsuma}
SIZE=${SIZE:-192MiB}
RATIO=${RATIO:-0.70}                 # logical over physical pages
TRANSACTIONS=${TRANSACTIONS:-2000}   # of each of the four clients of pgbench, and of SQLite
RECORD=${RECORD:-}                   # keeps what the first FTL's drive is asked
PGBIN=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)

for program in "$PHELSUMA" nbdkit nbdfuse fusermount3 losetup mkfs.ext4 e2fsck sqlite3 python3 runuser "$PGBIN/initdb" pgbench; do
	command -v "$program" >/dev/null || { echo "database.sh: there is no $program here (apt install nbdkit libnbd-bin" \
		"fuse3 e2fsprogs sqlite3 python3 postgresql would be right)" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "database.sh: mounting takes root" >&2; exit 1; }

D=$(mktemp -d "${TMPDIR:-/tmp}/phelsuma-db.XXXXXX")
chmod 755 "$D"
mkdir "$D/fuse" "$D/mnt" "$D/run"
chown postgres "$D/run"
server= bridge= device=

postgres() { runuser -u postgres -- "$@"; }

serve() { # OPTIONS: serves the image and makes a block device of it
	"$PHELSUMA" serve "$D/drive.img" --socket "$D/s" --control "$D/c" "$@" >"$D/serve.log" 2>&1 & server=$!
	for _ in $(seq 600); do [ -S "$D/c" ] && break; kill -0 "$server"; sleep 0.1; done
	nbdfuse "$D/fuse" "nbd+unix:///?socket=$D/s" 2>/dev/null & bridge=$!
	for _ in $(seq 600); do [ -e "$D/fuse/nbd" ] && break; sleep 0.1; done
	device=$(losetup -f --show --direct-io=on "$D/fuse/nbd")
}

unbridge() {
	if mountpoint -q "$D/mnt"; then umount "$D/mnt" 2>/dev/null || umount -l "$D/mnt"; fi
	[ -z "$device" ] || losetup -d "$device"
	[ -z "$bridge" ] || { fusermount3 -q -u -z "$D/fuse" 2>/dev/null || true; wait "$bridge" 2>/dev/null || true; }
	device= bridge=
}

stop() { # in good order
	unbridge
	[ -z "$server" ] || { kill "$server" 2>/dev/null || true; wait "$server" || true; }
	server=
}

undo() {
	[ ! -f "$D/mnt/pg/postmaster.pid" ] || postgres "$PGBIN/pg_ctl" -D "$D/mnt/pg" -m immediate -s stop || true
	stop
	rm -rf "$D"
}
trap undo EXIT
trap 'exit 1' HUP INT TERM

counts() { "$PHELSUMA" plug "$D/c" status | sed 's/.*since the last one \([0-9]*\) programs, \([0-9]*\) .*/\1 \2/'; }

amplification() { # WHAT BEFORE AFTER [TRANSACTIONS]
	echo "$2 $3" | awk -v what="$1" -v transactions="${4:-0}" '{
		printf "  %-34s %8d pages of the host, %8d programs, write amplification %.3f", what, $4 - $2, $3 - $1, ($3 - $1) / ($4 - $2)
		if (transactions) printf ", %.2f programs a transaction", ($3 - $1) / transactions
		printf "\n" }'
}

start_postgres() {
	postgres "$PGBIN/pg_ctl" -D "$D/mnt/pg" -l "$D/mnt/pg/log" -w -s \
		-o "-k $D/run -c listen_addresses='' -c max_wal_size=32MB -c min_wal_size=8MB -c shared_buffers=8MB" start
}

sql() { postgres psql -h "$D/run" -d postgres -At -c "$1"; }

# Two transactions for each row, which inserts it and updates one; says of each row that is committed.
sqlite_rows() { # HOW MANY [JOURNAL SYNCHRONOUS FILE]
	python3 -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = " + sys.argv[3])
db.execute("PRAGMA synchronous = " + sys.argv[4])
db.execute("CREATE TABLE IF NOT EXISTS t (i INTEGER PRIMARY KEY, v BLOB)")
(i,) = db.execute("SELECT coalesce(max(i), 0) FROM t").fetchone()
for i in range(i + 1, i + 1 + int(sys.argv[2])):
    db.execute("INSERT INTO t VALUES (?, randomblob(1000))", (i,))
    db.execute("UPDATE t SET v = randomblob(1000) WHERE i = 1 + abs(random()) % ?", (i,))
    print(i, flush=True)
' "$D/mnt/${4:-db}" "$1" "${2:-WAL}" "${3:-FULL}"
}

load() { # FTL
	echo "$1:"
	rm -f "$D/drive.img"
	"$PHELSUMA" create "$D/drive.img" --size "$SIZE" --ratio "$RATIO" --ftl "$1" | grep -o "ratio [0-9.]*" | sed 's/^/  /'
	if [ -n "$RECORD" ]; then serve --record "$(realpath "$RECORD")"; RECORD=; else serve; fi
	# Every page of the drive holds something, and nothing is trimmed: as on a drive that has been in use.
	dd if=/dev/urandom of="$device" bs=1M oflag=direct 2>/dev/null || true
	# Blocks of a flash page: a smaller one is read, changed and programmed as a whole.
	mkfs.ext4 -q -b 4096 -E nodiscard -J size=4 "$device"
	mount "$device" "$D/mnt"
	a=$(counts)
	sqlite_rows "$TRANSACTIONS" >/dev/null
	sync -f "$D/mnt"
	b=$(counts); amplification "SQLite, WAL, a row and an update" "$a" "$b" $((2 * TRANSACTIONS))
	sqlite_rows $((TRANSACTIONS / 4)) DELETE EXTRA deleting >/dev/null
	sync -f "$D/mnt"
	a=$(counts); amplification "SQLite, DELETE, synchronous=EXTRA" "$b" "$a" $((TRANSACTIONS / 2)); b=$a
	mkdir "$D/mnt/pg"; chown postgres "$D/mnt/pg"
	postgres "$PGBIN/initdb" -D "$D/mnt/pg" -A trust --wal-segsize=1 >/dev/null
	start_postgres
	postgres pgbench -h "$D/run" -q -i -s 3 postgres 2>/dev/null
	sync -f "$D/mnt"
	a=$(counts); amplification "PostgreSQL, initdb and pgbench -i" "$b" "$a"
	postgres pgbench -n -h "$D/run" -c 4 -t "$TRANSACTIONS" postgres 2>/dev/null | grep -E "actually processed" | sed 's/^/  pgbench: /'
	sql CHECKPOINT >/dev/null; sync -f "$D/mnt"
	b=$(counts); amplification "PostgreSQL, pgbench -c 4" "$a" "$b" $((4 * TRANSACTIONS))
	postgres "$PGBIN/pg_ctl" -D "$D/mnt/pg" -s stop
	stop
	"$PHELSUMA" check "$D/drive.img" | grep -E "nothing is wrong|finding" | sed 's/^/  check: /'
}

pull_the_plug() { # FTL: on what `load` has left
	serve
	mount "$device" "$D/mnt"
	start_postgres
	before=$(sql "SELECT count(*) FROM pgbench_history")
	(postgres pgbench -n -h "$D/run" -c 4 -T 60 postgres >"$D/pgbench.log" 2>&1 || true) & load1=$!
	(sqlite_rows 1000000 >"$D/rows" 2>/dev/null || true) & load2=$!
	sleep 8
	"$PHELSUMA" plug "$D/c" cut --after 500 >/dev/null
	wait "$server" && ended=0 || ended=$?
	server=
	wait "$load1" "$load2" || true
	rows=$(tail -n 1 "$D/rows")
	tail -n 1 "$D/serve.log" | sed 's/^/  /'
	# A database whose disk has gone ends by itself, or with this.
	postgres "$PGBIN/pg_ctl" -D "$D/mnt/pg" -m immediate -s stop >/dev/null 2>&1 || true
	[ ! -f "$D/run/.s.PGSQL.5432.lock" ] || kill -9 "$(head -n 1 "$D/run/.s.PGSQL.5432.lock")" 2>/dev/null || true
	sleep 1; rm -f "$D"/run/.s.*
	unbridge
	echo "  the server ended with exit code $ended; $rows rows of SQLite were committed"

	serve
	head -n 1 "$D/serve.log" | sed "s|$D/||; s/^/  next start: /"
	e2fsck -f -p "$device" >"$D/fsck.log" || [ $? = 1 ]
	sed 's/^/  e2fsck -f -p: /; s|/dev/loop[0-9]*|the drive|' "$D/fsck.log" | head -n 1
	mount "$device" "$D/mnt"
	now=$(sqlite3 "$D/mnt/db" "SELECT max(i) FROM t")
	[ "$now" -ge "$rows" ] && [ "$now" -le $((rows + 1)) ] || { echo "  SQLite LOST rows: $now of $rows"; failed=1; }
	echo "  SQLite: $now rows, integrity_check: $(sqlite3 "$D/mnt/db" 'PRAGMA integrity_check')"
	rm -f "$D/mnt/pg/postmaster.pid"
	start_postgres
	grep -aE "redo done|automatic recovery" "$D/mnt/pg/log" | tail -n 2 | sed 's/^.*LOG: */  PostgreSQL: /'
	# Every transaction adds the same to an account, a teller, a branch and the history.
	sums=$(sql "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)
		AND (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(delta) FROM pgbench_history)
		AND (SELECT sum(bbalance) FROM pgbench_branches) = (SELECT sum(delta) FROM pgbench_history)")
	after=$(sql "SELECT count(*) FROM pgbench_history")
	[ "$sums" = t ] || { echo "  PostgreSQL's sums DISAGREE"; failed=1; }
	echo "  PostgreSQL: $((after - before)) transactions more than before, its sums agree: $sums"
	postgres "$PGBIN/pg_ctl" -D "$D/mnt/pg" -s stop
	umount "$D/mnt"
	e2fsck -f -n "$device" >/dev/null 2>&1 && echo "  e2fsck -f -n: clean" || { echo "  e2fsck finds something WRONG"; failed=1; }
	stop
	"$PHELSUMA" check "$D/drive.img" | grep -E "nothing is wrong|finding" | sed 's/^/  check: /'
}

failed=
for ftl in ${*:-page geckoftl dftl}; do
	load "$ftl"
	pull_the_plug "$ftl"
done
[ -z "$failed" ]
