#!/bin/sh
# initdb.sh FOLDER: makes an empty database cluster for PostgreSQL in FOLDER, unless there is one. A world that began with initdb
# would spend most of its time on it.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
folder=$1
version=$("$bin/postgres" --version | sed 's/.* \([0-9]*\)\..*/\1/')
if [ "$(cat "$folder/PG_VERSION" 2>/dev/null)" = "$version" ]; then
	exit 0
fi
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
initdb() { "$@" "$bin/initdb" -D "$new/data" -A trust -U postgres -E UTF8 --locale=C --wal-segsize=1 --no-sync >/dev/null; }
if [ "$(id -u)" = 0 ]; then
	# PostgreSQL does not run as root.
	chown postgres "$new"
	initdb runuser -u postgres --
else
	initdb
fi
echo "host all all all trust" >>"$new/data/pg_hba.conf"
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
cp -r "$new/data" "$folder"
