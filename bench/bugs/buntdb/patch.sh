#!/bin/sh
# The server with a repaired buntdb: a commit whose fsync fails is taken back, in the file and in memory, and its client is told.
set -e
here=$(pwd)
tool=$(mktemp)
trap 'rm -f "$tool"' EXIT
go build -o "$tool" ../patched
cd ../server
"$tool" -package github.com/tidwall/buntdb -file buntdb.go -o "$here/.bloodhound/bin/fixed" -old '			_ = tx.db.file.Sync()
		}
		// Increment' -new '			if failed := tx.db.file.Sync(); failed != nil && err == nil {
				pos, again := tx.db.file.Seek(-int64(n), 1)
				if again == nil {
					again = tx.db.file.Truncate(pos)
				}
				if again == nil {
					again = tx.db.file.Sync()
				}
				if again != nil {
					panicErr(again)
				}
				tx.rollbackInner()
				err = failed
			}
		}
		// Increment'
