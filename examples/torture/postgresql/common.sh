# What the scripts share: where the cluster is, and how its programs are found and run.
PGDATA=$PHELSUMA_MOUNT/pg
for bin in /usr/lib/postgresql/*/bin; do [ ! -x "$bin/initdb" ] || PATH=$bin:$PATH; done
export PGDATA PATH
for program in postgres initdb setpriv; do
	command -v "$program" >/dev/null || { echo "there is no $program here"; exit 127; }
done
as_nobody() { (cd "$PGDATA" && HOME="$PGDATA" exec setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"); }
