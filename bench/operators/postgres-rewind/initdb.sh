#!/bin/sh
# initdb.sh makes an empty database cluster in .bloodhound/database, once. A run copies it, since initdb takes longer than the test.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
folder=.bloodhound/database
version=$("$bin/postgres" --version | sed 's/.* \([0-9]*\)\..*/\1/')
[ "$(cat "$folder/PG_VERSION" 2>/dev/null)" != "$version" ] || exit 0
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
initdb() { "$@" "$bin/initdb" -D "$new/data" -A trust -U postgres -E UTF8 --locale=C --wal-segsize=1 --no-sync >/dev/null; }
if [ "$(id -u)" = 0 ]; then # PostgreSQL does not run as root
	chown postgres "$new"
	initdb runuser -u postgres --
else
	initdb
fi
echo "host all all all trust" >>"$new/data/pg_hba.conf"
mkdir -p .bloodhound
rm -rf "$folder"
cp -r "$new/data" "$folder"
