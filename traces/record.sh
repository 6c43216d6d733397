#!/usr/bin/env bash
# Record a block trace of real programs on a real filesystem.
#
#   programs -> ext4 or NTFS -> loop device -> nbdfuse -> unix socket -> nbdkit
#
# nbdkit keeps the disk in memory and its log filter writes down every request;
# nbdlog2csv.py turns that log into a trace. Needs root (mount, losetup) and
# Linux with FUSE and loop devices; but for squid, nothing opens a network port.
# `--help` says more.

set -u -o pipefail
set -m # each background job is a process group of its own, so that it can be ended as one

usage() {
    cat <<'END'
usage: record.sh [options] -o TRACE.csv[.zst|.gz]

  -o, --output FILE     the trace; .zst and .gz are compressed (required)
  -w, --workload NAME   mixed (default): the next three at the same time
                          sqlite | postgres | churn
                        oltp: pgbench on 600 MB, 5 GB a round
                        desktop: an hour at a PC, with its pauses (desktop.py)
                        proxy: squid and its clients, on loopback (proxy.py)
                        These three have a disk of 3G, and one round.
  -c, --command CMD     instead of a workload: run CMD with `bash -c`, its
                          working folder on the recorded disk
  -f, --filesystem FS   ext4 (default), mounted with discard; or ntfs, of
                        ntfs-3g, which trims nothing
  -s, --size SIZE       size of the disk, with suffix M or G (default 320M)
  -r, --rounds N        rounds (default 6); the filesystem is unmounted between
                          rounds, so that each begins with an empty page cache
  -n, --work N          work per round, in percent (default 100)
      --seed N          seed of the workloads' choices (default 1)
      --user NAME       unprivileged user that runs the programs (default: the
                          first of postgres, nobody that exists)
      --pg-bin DIR      folder with initdb and postgres (default: found)
      --keep-log FILE   keep nbdkit's log as well
  -h, --help

The same seed gives the same work, not the same trace: the kernel and the
programs decide when and how they write.
END
}

die() { echo "record.sh: $*" >&2; exit 2; }
say() { echo "record.sh: $*" >&2; }

output="" workload=mixed command="" filesystem=ext4 size="" rounds="" work=100 seed=1 user="" pg_bin="" keep_log=""
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    -o | --output | -w | --workload | -c | --command | -f | --filesystem | -s | --size | -r | --rounds | -n | --work | --seed | --user | --pg-bin | --keep-log)
        [ $# -ge 2 ] || die "$1 needs a value"
        case $1 in
        -o | --output) output=$2 ;;
        -w | --workload) workload=$2 ;;
        -c | --command) workload=command command=$2 ;;
        -f | --filesystem) filesystem=$2 ;;
        -s | --size) size=$2 ;;
        -r | --rounds) rounds=$2 ;;
        -n | --work) work=$2 ;;
        --seed) seed=$2 ;;
        --user) user=$2 ;;
        --pg-bin) pg_bin=$2 ;;
        --keep-log) keep_log=$2 ;;
        esac
        shift 2 ;;
    *) die "unknown option '$1'; --help lists them" ;;
    esac
done

# Of some workloads one round is long, and writes much.
case $workload in
oltp | desktop | proxy) size=${size:-3G} rounds=${rounds:-1} ;;
*) size=${size:-320M} rounds=${rounds:-6} ;;
esac
[ -n "$output" ] || die "no output: give -o TRACE.csv, TRACE.csv.zst or TRACE.csv.gz"
case $output in *.csv | *.csv.zst | *.csv.gz) ;; *) die "--output '$output' must end in .csv, .csv.zst or .csv.gz" ;; esac
[ -d "$(dirname -- "$output")" ] || die "--output '$output': no such folder"
case $workload in
mixed | sqlite | postgres | churn | oltp | desktop | proxy | command) ;;
*) die "unknown workload '$workload'; --help lists them" ;;
esac
[ "$workload" != command ] || [ -n "$command" ] || die "workload 'command' wants one: -c CMD"
case $filesystem in ext4 | ntfs) ;; *) die "unknown filesystem '$filesystem': ext4 or ntfs" ;; esac
[[ $size =~ ^[1-9][0-9]*[MG]$ ]] || die "--size '$size' is not a number with M or G, such as 320M"
for pair in "rounds $rounds" "work $work" "seed $seed"; do
    [[ ${pair#* } =~ ^[1-9][0-9]{0,8}$ ]] || die "--${pair% *} '${pair#* }' is not a number from 1"
done

# ------------------------------------------------------------------ the tools

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
PATH=$PATH:/usr/sbin:/sbin
workloads=(sqlite postgres churn oltp desktop proxy command)
has() { # does workload $1 take part?
    case $workload/$1 in mixed/sqlite | mixed/postgres | mixed/churn) ;; *) [ "$workload" = "$1" ] ;; esac
}
missing=() packages=()
need() { command -v "$1" >/dev/null || { missing+=("$1"); packages+=("$2"); }; }
need nbdkit nbdkit
need nbdfuse nbdfuse
need fusermount3 fuse3
if [ "$filesystem" = ntfs ]; then need mkfs.ntfs ntfs-3g; else need mkfs.ext4 e2fsprogs; fi
need losetup mount
need mount mount
need fstrim util-linux
need setpriv util-linux
need python3 python3
case $output in *.zst) need zstd zstd ;; *.gz) need gzip gzip ;; esac
if has sqlite; then need sqlite3 sqlite3; fi
if has proxy; then need squid squid; fi
for name in desktop proxy; do
    if has $name; then [ -r "$here/$name.py" ] || die "no $here/$name.py"; fi
done
if has postgres || has oltp; then
    if [ -z "$pg_bin" ]; then
        for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V -r) "$(dirname -- "$(command -v initdb || echo /)")"; do
            if [ -x "$folder/initdb" ]; then pg_bin=$folder; break; fi
        done
    fi
    for tool in initdb pg_ctl postgres pgbench pg_dump; do
        [ -n "$pg_bin" ] && [ -x "$pg_bin/$tool" ] || { missing+=("$tool"); packages+=(postgresql); }
    done
fi
if [ ${#missing[@]} -gt 0 ]; then
    die "missing ${missing[*]}; on Debian: apt-get install $(printf '%s\n' "${packages[@]}" | sort -u | paste -sd ' ')"
fi
[ "$(id -u)" = 0 ] || die "needs root, for mount and losetup"
[ -e /dev/fuse ] || die "no /dev/fuse: load the kernel's fuse module"
[ -e /dev/loop-control ] || die "no /dev/loop-control: load the kernel's loop module"
if [ -z "$user" ]; then
    for name in postgres nobody; do
        if id -u "$name" >/dev/null 2>&1; then user=$name; break; fi
    done
fi
id -u "$user" >/dev/null 2>&1 || die "no user '$user'"
[ "$(id -u "$user")" != 0 ] || die "--user '$user' is root; the programs need an unprivileged user"

# ------------------------------------------------- what to undo, in any case

temp=$(mktemp -d "${TMPDIR:-/tmp}/record-trace.XXXXXX") || die "no temporary folder"
nbdkit_pid="" nbdfuse_pid="" loop="" jobs=()
mounted() { mountpoint -q -- "$1"; }

unmount() { # unmount $1; a program may take a moment to let go of it
    local try
    for try in 1 2 3 4 5 6 7 8 9 10; do
        mounted "$1" || return 0
        umount -- "$1" 2>"$temp/umount.err" && return 0
        sleep 0.5
    done
    say "cannot unmount: $(head -n 1 "$temp/umount.err")"
    return 1
}

end_process() { # end process $1, or process group -$1, by id: TERM, then KILL
    local try
    [ -n "$1" ] || return 0
    kill "-${2:-TERM}" -- "$1" 2>/dev/null
    for try in $(seq 50); do kill -0 -- "$1" 2>/dev/null || return 0; sleep 0.1; done
    kill -KILL -- "$1" 2>/dev/null
}

clean_up() {
    local code=$? job postmaster left=0
    trap - EXIT
    trap '' INT TERM HUP
    exec 3>&2 2>/dev/null # no notices of the shell about ended jobs
    for job in "${jobs[@]}"; do end_process "-$job"; done
    for folder in "$temp/disk/postgres" "$temp/disk/oltp"; do
        postmaster=$(head -n 1 "$folder/postmaster.pid" 2>/dev/null)
        if [ -n "$postmaster" ] && [ "$(readlink "/proc/$postmaster/cwd")" = "$folder" ]; then
            # QUIT: stop at once, its disk goes away anyway
            end_process "$postmaster" QUIT
        fi
    done
    [ ${#jobs[@]} = 0 ] || wait "${jobs[@]}"
    exec 2>&3
    unmount "$temp/disk" || left=1
    if [ -n "$loop" ]; then losetup -d "$loop" || left=1; fi
    if [ -n "$nbdfuse_pid" ]; then
        for _ in $(seq 20); do
            mounted "$temp/nbd" || break
            fusermount3 -u "$temp/nbd" 2>/dev/null || sleep 0.5
        done
        end_process "$nbdfuse_pid"
    fi
    end_process "$nbdkit_pid"
    if [ $left = 0 ] && ! mounted "$temp/disk" && ! mounted "$temp/nbd"; then
        rm -rf --one-file-system -- "$temp"
    else
        say "could not undo everything; look at 'findmnt', 'losetup' and $temp"
        [ $code != 0 ] || code=1
    fi
    exit $code
}
trap clean_up EXIT
trap 'say interrupted; exit 130' INT
trap 'say ended; exit 143' TERM HUP

wait_for() { # wait until the test "$@" holds, 10 s at most
    local try
    for try in $(seq 100); do "$@" && return 0; sleep 0.1; done
    return 1
}

# ----------------------------------------------------------------- the stack

chmod 711 "$temp"
mkdir -m 700 "$temp/nbd" "$temp/log"
mkdir "$temp/disk"
mkdir -m 700 "$temp/socket" && chown "$user" "$temp/socket"

nbdkit --foreground --exit-with-parent --unix "$temp/log/nbd.sock" --filter=log \
    memory size="$size" logfile="$temp/log/requests" >"$temp/log/nbdkit" 2>&1 &
nbdkit_pid=$!
wait_for test -S "$temp/log/nbd.sock" || die "nbdkit did not start: $(tail -n 1 "$temp/log/nbdkit")"
# One connection and one thread: the log has the requests in the order in which the kernel issues them. With several
# threads one in ten of a file written in order overtakes another.
nbdfuse -C 1 -s --pidfile "$temp/log/nbdfuse.pid" "$temp/nbd/disk" \
    "nbd+unix:///?socket=$temp/log/nbd.sock" >"$temp/log/nbdfuse" 2>&1 &
nbdfuse_pid=$!
wait_for test -s "$temp/log/nbdfuse.pid" || die "nbdfuse did not start: $(tail -n 1 "$temp/log/nbdfuse")"
loop=$(losetup --find --show --direct-io=on "$temp/nbd/disk") || die "no loop device"

if [ "$filesystem" = ntfs ]; then
    make=(mkfs.ntfs -q -Q -F -c 4096 -p 0 -S 63 -H 255)
    # Files have no owners of their own there: all of them are the user's.
    mount=(mount -t ntfs-3g -o "big_writes,uid=$(id -u "$user"),gid=$(id -g "$user"),umask=077")
else
    make=(mkfs.ext4 -q -b 4096)
    mount=(mount -o discard)
fi
attach() { "${mount[@]}" "$loop" "$temp/disk" || die "cannot mount"; }

"${make[@]}" "$loop" || die "${make[0]} failed"
attach
for name in "${workloads[@]}"; do
    if has $name; then mkdir "$temp/disk/$name" && chown "$user" "$temp/disk/$name" && chmod 700 "$temp/disk/$name"; fi
done

# -------------------------------------------------------------- the programs
# Each runs as the unprivileged user, in its own folder on the disk, once a
# round. $round counts from 1; $work is in percent; $random is a number from
# seed and round.

work_sqlite() {
    if [ "$round" = 1 ]; then
        sqlite3 app.db "
            PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, changed INTEGER, body BLOB);
            CREATE INDEX item_name ON item(name);
            WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<40000)
            INSERT INTO item SELECT i, printf('item-%06d', i*7919%40000), 0, randomblob(300) FROM n;" >/dev/null || return 1
    else
        [ "$(sqlite3 app.db 'PRAGMA integrity_check')" = ok ] || return 1
    fi
    # Small transactions at random, four of five of them among a fifth of the rows.
    awk -v transactions=$((2200 * work / 100)) -v seed="$random" 'BEGIN {
        srand(seed)
        print "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
        for (t = 1; t <= transactions; t++) {
            print "BEGIN;"
            for (u = 0; u < 4; u++) {
                id = 1 + int(rand() * (rand() < 0.8 ? 8000 : 40000))
                printf "UPDATE item SET changed=changed+1, body=randomblob(300) WHERE id=%d;\n", id
            }
            if (t % 10 == 0) printf "UPDATE item SET name=name||\"x\" WHERE id=%d;\n", 1 + int(rand() * 40000)
            if (t % 25 == 0) printf "SELECT count(*) FROM item WHERE id BETWEEN %d AND %d;\n", id, id + 500
            print "COMMIT;"
        }
    }' | sqlite3 -bail app.db >/dev/null || return 1
    # A copy as a backup; the one before goes.
    sqlite3 app.db ".backup backup-$round.db" && rm -f "backup-$((round - 1)).db"
}

# Starts PostgreSQL. The first round makes it: pgbench's tables at scale $1, settings from the other arguments.
begin_postgres() {
    export PGHOST=$sockets PGDATABASE=postgres
    if [ "$round" = 1 ]; then
        "$pg_bin/initdb" -D . -U postgres --auth=trust --no-locale -E UTF8 --wal-segsize=4 >/dev/null || return 1
        printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$sockets'" "${@:2}" >>postgresql.conf
    fi
    "$pg_bin/pg_ctl" -D . -w -s -l server.log start || return 1
    [ "$round" != 1 ] || "$pg_bin/pgbench" -U postgres -i -q -s "$1" >/dev/null 2>&1
}

work_postgres() {
    begin_postgres 2 'shared_buffers = 16MB' 'min_wal_size = 16MB' 'max_wal_size = 32MB' \
        'checkpoint_timeout = 30s' 'autovacuum_naptime = 5s' || return 1
    "$pg_bin/pgbench" -U postgres -n -c 4 -t $((1500 * work / 100)) --random-seed="$random" >/dev/null 2>&1 || return 1
    "$pg_bin/pg_dump" -U postgres -f dump.sql && sync dump.sql || return 1
    "$pg_bin/pg_ctl" -D . -w -s -m fast stop
}

work_churn() {
    # Trees of files of random sizes, copied and deleted: what a build or an
    # unpacked package does. Deleted files become trims (mount -o discard).
    RANDOM=$random
    local i tree
    if [ "$round" = 1 ]; then
        mkdir tree-0
        for i in $(seq 120); do head -c $((1 + RANDOM * RANDOM % 65536)) /dev/urandom >"tree-0/$i" || return 1; done
        sync -f .
    else
        cat tree-*/* | cksum >/dev/null
    fi
    for i in $(seq $((12 * work / 100))); do
        tree=tree-$round-$i
        cp -r tree-0 "$tree" || return 1
        for _ in $(seq 20); do
            head -c $((1 + RANDOM * 3)) /dev/urandom >"tree-0/$((1 + RANDOM % 120))" || return 1
        done
        sync -f .
        sleep 0.3
        # All but the last two copies go.
        ls -d tree-[1-9]*-* | sort -V | head -n -2 | xargs -r rm -r
    done
}

work_oltp() {
    begin_postgres 40 'shared_buffers = 64MB' 'min_wal_size = 32MB' 'max_wal_size = 256MB' \
        'checkpoint_timeout = 60s' || return 1
    "$pg_bin/pgbench" -U postgres -n -c 8 -t $((13000 * work / 100)) --random-seed="$random" >/dev/null 2>&1 || return 1
    "$pg_bin/pg_ctl" -D . -w -s -m fast stop
}

# The programs come as text: the user may not be able to read the folder of this script.
work_desktop() { mkdir "$round" && cd "$round" && python3 -c "$program" --minutes "$((work * 6 / 10)).$((work * 6 % 10))" --seed "$random"; }
work_proxy() { mkdir "$round" && cd "$round" && python3 -c "$program" --requests "$((2400 * work))" --seed "$random"; }

work_command() { bash -c "$command"; }

run_work() { # start workload $1 of this round in the background
    local name=$1
    (
        cd "$temp/disk/$name" || exit 1
        case $name in desktop | proxy) program=$(cat "$here/$name.py") && export program || exit 1 ;; esac
        export round work pg_bin command random=$((seed * 1000 + round)) sockets=$temp/socket HOME=$temp/disk/$name
        export -f begin_postgres "work_$name"
        exec setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
            bash -c "work_$name" </dev/null
    ) &
    jobs+=($!)
}

started=$(date +%s)
for round in $(seq "$rounds"); do
    jobs=()
    for name in "${workloads[@]}"; do
        if has $name; then run_work $name; fi
    done
    say "round $round of $rounds: $workload"
    for i in "${!jobs[@]}"; do
        wait "${jobs[i]}" || die "a program of workload '$workload' failed in round $round"
        unset "jobs[i]"
    done
    [ "$filesystem" = ntfs ] || fstrim "$temp/disk" || die "fstrim failed"
    unmount "$temp/disk" || exit 1
    [ "$round" = "$rounds" ] || attach
done
say "recorded $(($(date +%s) - started)) s"

# --------------------------------------------------------- undo, then convert

losetup -d "$loop" && loop=""
wait_for fusermount3 -u "$temp/nbd" 2>/dev/null || die "cannot unmount nbdfuse"
wait "$nbdfuse_pid"; nbdfuse_pid=""
kill -TERM "$nbdkit_pid"; wait "$nbdkit_pid" 2>/dev/null; nbdkit_pid=""

version() { "$@" 2>&1 | grep -o -m 1 '[0-9][0-9]*\.[0-9][0-9.]*' | head -n 1; }
what="workload: $workload, $rounds rounds, work $work %, seed $seed"
if [ "$filesystem" = ntfs ]; then
    disk="NTFS with 4096-byte clusters"
    made="ntfs-3g $(version ntfs-3g --version)"
else
    disk="ext4 with 4096-byte blocks, mounted with discard"
    made="mke2fs $(version mkfs.ext4 -V)"
fi
programs=""
if has sqlite; then programs+=", SQLite $(version sqlite3 --version)"; fi
if has proxy; then programs+=", Squid $(version squid --version)"; fi
if has postgres || has oltp; then programs+=", PostgreSQL $(version "$pg_bin/postgres" --version)"; fi
if has churn; then programs+=", coreutils $(version cp --version)"; fi
comments=(
    --comment "Phelsuma block trace, recorded $(date -u +%F) by traces/record.sh"
    --comment "$what; disk $size, $disk"
    --comment "stack: Linux $(uname -r | grep -o '^[0-9]*\.[0-9]*'), $made, loop device with direct I/O, nbdfuse $(version nbdfuse --version), nbdkit $(version nbdkit --version)"
)
[ -z "$programs" ] || comments+=(--comment "programs: ${programs#, }")
comments+=(
    --comment "Zero requests that may trim are trims; FUA is not a record of its own; times: arrival"
    --comment "licence: MIT OR Apache-2.0"
)
[ -z "$keep_log" ] || cp -- "$temp/log/requests" "$keep_log" || exit 2
python3 "$here/nbdlog2csv.py" "$temp/log/requests" -o "$temp/log/trace.csv" "${comments[@]}" || exit 2
case $output in
*.zst) zstd -q -19 -f "$temp/log/trace.csv" -o "$temp/log/trace" ;;
*.gz) gzip -n -9 <"$temp/log/trace.csv" >"$temp/log/trace" ;;
*) mv "$temp/log/trace.csv" "$temp/log/trace" ;;
esac && chmod 644 "$temp/log/trace" && cp -- "$temp/log/trace" "$output" || exit 2
say "wrote $output ($(stat -c %s -- "$output") bytes)"
exit 0
