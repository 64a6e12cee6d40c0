#!/bin/sh
# Builds etcd 3.5.5, with one of the seeded bugs if it is named, into ../.bloodhound/bin.
set -eu
bug=${1:-none}
here=$(cd "$(dirname "$0")" && pwd)
private=$here/../.bloodhound
mod=v3.5.5.mod
cd "$here/../../bugs/etcd-index/server"
if [ "$bug" != none ]; then
	library=go.etcd.io/etcd/raft/v3
	source=$(go list -modfile=$mod -m -f '{{.Dir}}' $library)
	raft=$private/sources/raft-$bug
	rm -rf "$raft"
	mkdir -p "$private/sources"
	cp -r "$source" "$raft"
	chmod -R u+w "$raft"
	sed -i -f "$here/$bug.sed" "$raft/raft.go"
	if cmp -s "$source/raft.go" "$raft/raft.go"; then
		echo "$here/$bug.sed changes nothing in $source/raft.go" >&2
		exit 1
	fi
	# The path of a replacement counts from the module, so that the program does not depend on where the project is.
	go mod edit -print -replace $library=../../../raft/.bloodhound/sources/raft-"$bug" $mod >"$private/$bug.mod"
	cp "${mod%.mod}.sum" "$private/$bug.sum"
	mod=$private/$bug.mod
fi
mkdir -p "$private/bin"
CGO_ENABLED=0 go build -trimpath -buildvcs=false -modfile="$mod" -o "$private/bin/etcd-$bug" .
