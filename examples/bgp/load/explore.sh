#!/bin/sh
# Explores what GoBGP takes from a neighbour: ./explore.sh [FLAGS OF bloodhound live test] [-- FLAGS OF explore/explore_test.go]
# Its packages are instrumented, session.go is added to its server, and text that it makes for people is not followed.
cd "$(dirname "$0")" || exit 2
gobgp=github.com/osrg/gobgp/v4
exec "${BLOODHOUND_LIVE:-bloodhound-live}" test --add $gobgp/pkg/server=explore/testdata/server/session.go --leave '\.String$|\.AddrPrefixOnlyCompare$' \
	--instrument ./explore,github.com/bloodhound-dst/bloodhound/live/internal/bgp,$gobgp/pkg/server,$gobgp/internal/pkg/table,$gobgp/pkg/packet/bgp,github.com/gaissmai/bart/... ./explore "$@"
