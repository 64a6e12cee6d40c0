#!/bin/sh
# Starts three BIRDs on addresses of the loopback interface, which end with this script: the provider, its customer, and the Internet. ./start.sh
cd "$(dirname "$0")" && mkdir -p .bloodhound || exit 2
for name in internet customer provider; do
	bird -f -c $name.conf -s .bloodhound/$name.ctl -P .bloodhound/$name.pid &
	pids="$pids $!"
done
trap 'kill $pids' EXIT
trap 'exit 0' INT TERM
wait
