#!/bin/sh
# node.sh NAME: a redis-server and a sentinel on one node. n1 starts as the master.
set -eu
name=$1
if [ ! -e /data/redis.conf ]; then
	cat >/data/redis.conf <<END
port 6379
bind * -::*
protected-mode no
dir /data
save ""
appendonly yes
appendfsync always
replica-announce-ip $name
repl-diskless-sync-delay 0
END
	[ "$name" = n1 ] || echo "replicaof n1 6379" >>/data/redis.conf
	cat >/data/sentinel.conf <<END
port 26379
bind * -::*
protected-mode no
dir /data
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $name
sentinel monitor main n1 6379 2
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 2000
END
fi
redis-server /data/redis.conf &
# A sentinel learns of replicas when it first asks the master, so the replicas connect before it starts.
sleep 2
exec redis-sentinel /data/sentinel.conf
