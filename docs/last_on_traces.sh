#!/bin/sh
# LAST++ and its competitors on public traces, as docs/LOG_BLOCKS.md has them: docs/last_on_traces.sh FOLDER, where the folder has the
# traces. Each is played three times, on a drive of eight channels with room for it and 6 % of log blocks.
set -eu
: "${1:?the folder with the traces}"
phelsuma=${PHELSUMA:-target/release/phelsuma}
play() {
	"$phelsuma" compare --trace "$1" --loops 3 --ftl last++,ftl-mm:bast,ftl-mm:fast,ftl-mm:superblock,dftl-req,dftl-noflush \
		--capacity "$2" --set log.blocks="$3" --cache "$4" --channels 8 --ratio 0.905 --timing last --queue-depth 32
}
for trace in desktop_diskmon_mayun2.txt desktop_flashsim_4k.trace bench_iozone_100k.trace oltp_financial1_50k_4k.trace; do
	play "$1/$trace.zst" 2251MiB 256 312KiB
done
play "$1/server_msnfs_150k.trace.zst" 2400MiB 273 333KiB
play "$1/bench_postmark.trace.zst" 6656MiB 757 923KiB
