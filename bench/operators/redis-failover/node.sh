#!/bin/sh
# node.sh NAME: one machine with a redis-server and a sentinel. n1 begins as the master, the others as its replicas;
# what the sentinels decide later is kept in /data and counts after a restart. $DATA, $REDIS_PORT and $SENTINEL_PORT
# are for trying it by hand.
set -eu
name=$1
data=${DATA:-/data}
port=${REDIS_PORT:-6379}
sentinel_port=${SENTINEL_PORT:-26379}
master=${MASTER:-n1}
master_port=${MASTER_PORT:-6379}
mkdir -p "$data"

if [ ! -e "$data/redis.conf" ]; then
	{
		echo "port $port"
		echo "bind * -::*"
		echo "protected-mode no"
		echo "dir $data"
		echo "save \"\""
		echo "appendonly yes"
		echo "appendfsync always"
		echo "replica-announce-ip $name"
		echo "repl-diskless-sync-delay 0"
		# No min-replicas-to-write: a master that is cut off goes on acknowledging writes. This is the bug.
		if [ "$name:$port" != "$master:$master_port" ]; then
			echo "replicaof $master $master_port"
		fi
	} >"$data/redis.conf"
fi
if [ ! -e "$data/sentinel.conf" ]; then
	{
		echo "port $sentinel_port"
		echo "bind * -::*"
		echo "protected-mode no"
		echo "dir $data"
		echo "sentinel resolve-hostnames yes"
		echo "sentinel announce-hostnames yes"
		echo "sentinel announce-ip $name"
		echo "sentinel monitor main $master $master_port 2"
		echo "sentinel down-after-milliseconds main 500"
		echo "sentinel failover-timeout main 2000"
	} >"$data/sentinel.conf"
fi

redis-server "$data/redis.conf" &
# A sentinel learns of replicas when it first asks its master, and then every 10 s. So it starts after they have connected.
sleep 2
exec redis-sentinel "$data/sentinel.conf"
