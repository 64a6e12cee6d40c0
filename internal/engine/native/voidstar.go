//go:build linux && amd64

package native

import (
	_ "embed"
)

//go:generate gcc -O2 -Wall -fPIC -fvisibility=hidden -fcf-protection=none -fno-asynchronous-unwind-tables -fno-stack-protector -fno-tree-loop-distribute-patterns -nostdlib -shared -Wl,-soname=libvoidstar.so,--hash-style=both,--build-id=none,-z,noexecstack,-z,max-page-size=4096 -s -o voidstar/voidstar.so voidstar/voidstar.c

// voidstar is the instrumentation library of Antithesis that each node has. See voidstar/voidstar.c.
//
//go:embed voidstar/voidstar.so
var voidstar []byte

// voidstarPath is where SDKs and instrumented programs look for it, and where the loaders of glibc and musl do.
const voidstarPath = "/usr/lib/libvoidstar.so"
