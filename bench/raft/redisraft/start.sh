#!/bin/sh
# Starts a node of a RedisRaft cluster: n1 founds it, the others join. A node that has been a member before only starts.
bin=$(cd "$(dirname "$0")" && pwd)/../.bloodhound/bin
name=$1 bug=$2
mkdir -p /data && cd /data || exit
member() {
	until "$bin/redis-cli" ping >/dev/null 2>&1; do sleep 0.1; done
	until [ "$("$bin/redis-cli" "$@" 2>/dev/null | head -c 2)" = OK ]; do sleep 0.2; done
	touch /data/member
}
if ! [ -e member ]; then
	case $name in
	n1) member raft.cluster init & ;;
	*) member raft.cluster join n1:6379 & ;;
	esac
fi
exec "$bin/redis-server" --port 6379 --protected-mode no --save '' --dbfilename raft.rdb --loglevel notice --loadmodule "$bin/redisraft-$bug.so" \
	--raft.addr "$name:6379" --raft.log-filename raftlog.db --raft.follower-proxy yes --raft.request-timeout 100 --raft.election-timeout 500 \
	--raft.reconnect-interval 100
