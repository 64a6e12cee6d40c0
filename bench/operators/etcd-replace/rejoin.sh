#!/bin/sh
# Joins a running cluster with an empty disk: removes the member of this name and adds it again, by way of another member.
# It may run twice: what the first attempt has done stays done.
#
#	rejoin.sh NAME ETCD ARGUMENT...
name=$1
shift
export ETCDCTL_API=3
for node in n1 n2 n3; do
	[ "$node" = "$name" ] || peers=${peers:+$peers,}http://$node:2379
done
ctl() { etcdctl --endpoints "$peers" --command-timeout 3s "$@"; }

until list=$(ctl member list); do sleep 0.5; done
# ID, status, name, peer address, client address, learner
if line=$(echo "$list" | grep -F "http://$name:2380") && ! echo "$line" | grep -q unstarted; then
	until ctl member remove "${line%%,*}"; do sleep 0.5; done
	line=
fi
if [ -z "$line" ]; then
	until ctl member add "$name" --peer-urls "http://$name:2380"; do sleep 0.5; done
fi
exec "$@" --initial-cluster-state existing
