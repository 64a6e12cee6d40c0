#!/bin/sh
# A key of the server and one of the client, made once on this machine.
set -eu
mkdir -p .bloodhound/bin
for name in host user; do
	[ -e .bloodhound/bin/$name ] || ssh-keygen -q -t ed25519 -N '' -C $name -f .bloodhound/bin/$name
done
