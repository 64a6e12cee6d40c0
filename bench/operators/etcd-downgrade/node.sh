#!/bin/sh
# Starts a release of etcd on a node: node.sh NAME ETCD
exec "$2" --name "$1" --data-dir /data --heartbeat-interval 50 --election-timeout 500 \
	--listen-peer-urls http://0.0.0.0:2380 --initial-advertise-peer-urls "http://$1:2380" \
	--listen-client-urls http://0.0.0.0:2379 --advertise-client-urls "http://$1:2379" \
	--initial-cluster n1=http://n1:2380,n2=http://n2:2380,n3=http://n3:2380
