#!/bin/sh
# The server with a repaired bbolt: where the last fsync of a commit fails, the meta page comes back that it has written over, as LMDB
# does it; after ten attempts the program ends.
set -e
here=$(pwd)
tool=$(mktemp)
trap 'rm -f "$tool"' EXIT
go build -o "$tool" ../patched
cd ../server
"$tool" -package go.etcd.io/bbolt -file tx.go -o "$here/.bloodhound/bin/fixed" -old '	tx.db.metalock.Lock()
	if _, err := tx.db.ops.writeAt(buf, int64(p.Id())*int64(tx.db.pageSize)); err != nil {
		tx.db.metalock.Unlock()
		lg.Errorf("writeAt failed, pgid: %d, pageSize: %d, error: %v", p.Id(), tx.db.pageSize, err)
		return err
	}
	tx.db.metalock.Unlock()
	if !tx.db.NoSync || common.IgnoreNoSync {
		// gofail: var beforeSyncMetaPage struct{}
		if err := fdatasync(tx.db); err != nil {' -new '	// Nobody reads this commit before it is on the disk.
	tx.db.metalock.Lock()
	defer tx.db.metalock.Unlock()
	place := int64(p.Id()) * int64(tx.db.pageSize)
	before := append([]byte(nil), common.UnsafeByteSlice(unsafe.Pointer(tx.db.page(p.Id())), 0, 0, tx.db.pageSize)...)
	if _, err := tx.db.ops.writeAt(buf, place); err != nil {
		return err
	}
	if !tx.db.NoSync || common.IgnoreNoSync {
		if err := fdatasync(tx.db); err != nil {
			for range 10 {
				if _, again := tx.db.ops.writeAt(before, place); again != nil {
					continue
				}
				if again := fdatasync(tx.db); again == nil {
					return err
				}
			}
			panic(err)'
