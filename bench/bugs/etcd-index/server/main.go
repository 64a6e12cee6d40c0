// Command etcd is etcd itself: go.mod has the release with the bug, fixed.mod one without it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
