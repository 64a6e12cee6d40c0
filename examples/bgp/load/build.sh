#!/bin/sh
# Builds this program so that GoBGP in it can be explored while it runs: ./build.sh OUTPUT
gobgp=github.com/osrg/gobgp/v4
dir=$(dirname "$0")
CGO_ENABLED=0 exec "${BLOODHOUND:-bloodhound}" live build -o "$1" --add $gobgp/pkg/server="$dir/explore/testdata/server/session.go" --leave '\.String$|\.AddrPrefixOnlyCompare$' \
	--instrument "$dir/...,github.com/bloodhound-dst/bloodhound/internal/live/bgp,$gobgp/pkg/server,$gobgp/internal/pkg/table,$gobgp/pkg/packet/bgp,github.com/gaissmai/bart/..." "$dir"
