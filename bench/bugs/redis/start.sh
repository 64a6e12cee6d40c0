#!/bin/sh
# Redis under a supervisor: it is started again whenever it ends, and where it refuses its log, that is repaired in the way which it
# asks for. With REWRITE, the log is written anew and synchronised before Redis believes it.
mkdir -p /data
while :; do
	for log in /data/appendonlydir/*.incr.aof; do
		[ -n "$REWRITE" ] && [ -e "$log" ] || continue
		until cp "$log" /data/copy && sync /data/copy && mv /data/copy "$log" && sync /data/appendonlydir; do
			sleep 0.1
		done
	done
	redis-server --dir /data --save "" --appendonly yes --appendfsync always --bind 0.0.0.0 --protected-mode no | tee /data/redis.log
	if grep -q "Bad file format" /data/redis.log; then
		echo y | redis-check-aof --fix /data/appendonlydir/appendonly.aof.manifest
	fi
	sleep 0.1
done
