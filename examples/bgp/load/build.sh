#!/bin/sh
# Builds this program so that GoBGP in it can be explored while it runs: ./build.sh OUTPUT
# Or GoBGP as the router of a domain, which answers others and is not explored: ./build.sh OUTPUT domain
gobgp=github.com/osrg/gobgp/v4
dir=$(dirname "$0")
set -- "$1" "$dir/$2"
packages="$dir/...,github.com/bloodhound-dst/bloodhound/live/internal/bgp,$gobgp/pkg/server,$gobgp/internal/pkg/table,$gobgp/pkg/packet/bgp,github.com/gaissmai/bart/..."
export CGO_ENABLED=0 # GoBGP does without C code, and a process with some is not copied
build() { exec "${BLOODHOUND_LIVE:-bloodhound-live}" build --add $gobgp/pkg/server="$dir/explore/testdata/server/session.go" "$@"; }
case $2 in
*/domain) build --std=false -o "$1" "$2" ;;
*) build --leave '\.String$|\.AddrPrefixOnlyCompare$' --instrument "$packages" -o "$1" "$2" ;;
esac
