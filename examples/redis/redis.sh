#!/bin/sh
# redis.sh [MASTER]: one redis-server, at its first start the replica of MASTER, if there is one. What the proxy makes of it later, the
# server writes into its configuration (CONFIG REWRITE), and it counts after a restart.
set -eu
if [ ! -e /data/redis.conf ]; then
	{
		echo "port 6379"
		echo "bind * -::*"
		echo "protected-mode no"
		echo "dir /data"
		echo "loglevel warning"
		echo 'save ""'
		echo "appendonly yes"
		echo "appendfsync always"
		echo "repl-diskless-sync yes"
		echo "repl-diskless-sync-delay 0"
		if [ $# -gt 0 ]; then echo "replicaof $1 6379"; fi
	} >/data/redis.conf.new
	mv /data/redis.conf.new /data/redis.conf
fi
exec redis-server /data/redis.conf
