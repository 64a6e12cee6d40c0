#!/bin/sh
# One of two PostgreSQL servers: node.sh NAME PEER. pg1 begins as the primary, pg2 as its standby. A server that starts while its peer
# takes writes becomes the peer's standby: pg_rewind takes back what only this server has.
set -eu
name=$1
peer=$2
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
data=/data/database
run() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
takes_writes() { [ "$(psql -h "$1" -U postgres -Atc 'select not pg_is_in_recovery()' 2>/dev/null)" = t ]; }
source="host=$peer user=postgres dbname=postgres"

mkdir -p /data
chown postgres /data
while [ -e /data/fenced ]; do sleep 0.1; done # a switchover is under way
if [ ! -e "$data" ]; then
	if [ "$name" = pg1 ]; then
		cp -r /database "$data"
		echo "host replication all all trust" >>"$data/pg_hba.conf"
		chown -R postgres "$data"
		chmod 700 "$data"
	else
		until run "$bin/pg_basebackup" -d "$source" -D "$data" -R -X stream -c fast; do
			rm -rf "$data"
			sleep 0.2
		done
	fi
elif takes_writes "$peer"; then
	until run "$bin/pg_rewind" -D "$data" --source-server "$source"; do sleep 0.2; done
	touch "$data/standby.signal"
	echo "primary_conninfo = '$source'" >>"$data/postgresql.auto.conf"
	chown postgres "$data/standby.signal"
fi
exec setpriv --reuid postgres --regid postgres --clear-groups "$bin/postgres" -D "$data" -c listen_addresses='*' \
	-c unix_socket_directories=/tmp -c shared_buffers=8MB -c log_min_messages=warning -c wal_log_hints=on -c wal_keep_size=64MB \
	-c hot_standby=on -c recovery_target_timeline=latest
