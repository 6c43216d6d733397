#!/usr/bin/env bash
# Fetch the public traces that public.tsv names, each held against its hash. `--help` says more.

set -u -o pipefail

usage() {
    cat <<'END'
usage: fetch-public.sh [--from URL] FOLDER [FILE...]

Fetches the traces that public.tsv names into FOLDER, or those of them that
are named (desktop_diskmon_mayun2.txt.zst, ...), and compresses each. What is
there already is left as it is; what does not have the right hash is not kept.

  --from URL   where repositories are (default
               https://raw.githubusercontent.com): URL/REPOSITORY/COMMIT/PATH

Then `export PHELSUMA_TRACES=FOLDER`. README.md says whose traces these are.
END
}

die() { echo "fetch-public.sh: $*" >&2; exit 2; }
say() { echo "fetch-public.sh: $*" >&2; }

from=https://raw.githubusercontent.com folder="" wanted=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage; exit 0 ;;
    --from) [ $# -ge 2 ] || die "$1 needs a value"; from=${2%/}; shift ;;
    -*) die "unknown option '$1'; --help lists them" ;;
    *) if [ -z "$folder" ]; then folder=$1; else wanted+=("$1"); fi ;;
    esac
    shift
done
[ -n "$folder" ] || { usage >&2; exit 2; }
for program in curl sha256sum zstd; do
    command -v "$program" >/dev/null || die "there is no $program"
done
list=$(dirname "$0")/public.tsv
known=$(grep -v '^#' "$list" | cut -f 1) || die "$list cannot be read"
for file in ${wanted[@]+"${wanted[@]}"}; do
    grep -qxF -- "$file" <<<"$known" || die "unknown trace '$file'; known are" $known
done
mkdir -p "$folder" || exit 1
part=$(mktemp "$folder/.part.XXXXXX") || exit 1
trap 'rm -f "$part" "$part.zst"' EXIT

failed=0
while IFS=$'\t' read -r file repository commit path hash; do
    case $file in '#'*) continue ;; esac
    if [ ${#wanted[@]} -gt 0 ]; then
        grep -qxF -- "$file" < <(printf '%s\n' "${wanted[@]}") || continue
    fi
    [ -e "$folder/$file" ] && continue
    if ! curl -fsSL --retry 3 --max-time 300 --max-filesize 100M -o "$part" "$from/$repository/$commit/$path"; then
        say "$file: cannot be fetched from $from/$repository/$commit/$path"
        failed=1
    elif ! sha256sum --check --status <<<"$hash  $part"; then
        say "$file: what is at $from/$repository/$commit/$path is not what was there"
        failed=1
    else
        zstd -q -19 -f "$part" -o "$part.zst" && mv "$part.zst" "$folder/$file" || exit 1
        echo "$file"
    fi
done <"$list"
exit $failed
