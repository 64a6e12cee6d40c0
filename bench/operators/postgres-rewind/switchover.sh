#!/bin/sh
# Moves the primary from this machine to its peer, which must have all that was acknowledged: switchover.sh PEER. The primary is stopped first,
# and the peer is promoted when it has the checkpoint with which the primary has ended.
set -eu
peer=$1
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
data=/data/database
sql() { psql -h "$1" -U postgres -Atc "$2"; }
[ "$(sql localhost 'select pg_is_in_recovery()')" = f ] || { echo "this server is not the primary" >&2; exit 1; }
[ "$(sql localhost "select count(*) from pg_stat_replication where state = 'streaming'")" = 1 ] || { echo "no standby follows" >&2; exit 1; }
touch /data/fenced
setpriv --reuid postgres --regid postgres --clear-groups "$bin/pg_ctl" -D "$data" stop -m fast -w >/dev/null
last=$("$bin/pg_controldata" "$data" | sed -n 's/^Latest checkpoint location: *//p')
for i in 1 2 3 4 5 6 7 8 9 10; do
	if [ "$(sql "$peer" "select pg_last_wal_receive_lsn() > '$last'")" = t ]; then
		sql "$peer" 'select pg_promote()' >/dev/null
		rm /data/fenced
		exit
	fi
	sleep 0.2
done
rm /data/fenced # the peer lacks something: this server is the primary again
echo "the standby does not have all" >&2
exit 1
