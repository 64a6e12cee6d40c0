#!/bin/sh
# The server, from the module proxy, at the version that the test names.
set -eu
GOBIN=$PWD/.bloodhound/bin CGO_ENABLED=0 GOFLAGS=-mod=mod go install "github.com/nats-io/nats-server/v2@${NATS_VERSION:-v2.10.29}"
