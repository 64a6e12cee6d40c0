#!/bin/sh
# The server with a repaired Badger: what a write that failed has left is cut off the log.
set -e
here=$(pwd)
tool=$(mktemp)
trap 'rm -f "$tool"' EXIT
go build -o "$tool" ../patched
cd ../server
"$tool" -package github.com/dgraph-io/badger -file value.go -o "$here/.bloodhound/bin/fixed" -old '		n, err := curlf.fd.Write(buf.Bytes())
		if err != nil {' -new '		n, err := curlf.fd.Write(buf.Bytes())
		if err != nil {
			end := int64(vlog.woffset())
			again := curlf.fd.Truncate(end)
			if again == nil {
				_, again = curlf.fd.Seek(end, io.SeekStart)
			}
			if again != nil {
				panic(again)
			}'
