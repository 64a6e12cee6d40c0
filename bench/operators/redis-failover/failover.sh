#!/bin/sh
# Fails over from the master on this machine without losing a write: clients pause, and the failover begins when both replicas have all
# writes. If they have not within a second, writes go on, and nothing happens.
set -e
redis-cli client pause 10000 write >/dev/null
offsets() { redis-cli info replication; }
master=$(offsets | tr -d '\r' | sed -n 's/^master_repl_offset://p')
for i in 1 2 3 4 5 6 7 8 9 10; do
	behind=$(offsets | tr -d '\r' | sed -n 's/^slave[0-9]*:.*offset=\([0-9]*\),.*/\1/p' | awk -v m="$master" '$1 < m' | wc -l)
	count=$(offsets | tr -d '\r' | sed -n 's/^connected_slaves://p')
	if [ "$behind" = 0 ] && [ "$count" = 2 ]; then
		redis-cli -p 26379 sentinel failover main
		exit
	fi
	sleep 0.1
done
redis-cli client unpause >/dev/null
echo "the replicas do not keep up" >&2
exit 1
