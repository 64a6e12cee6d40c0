//go:build linux && amd64

package native

import (
	crand "crypto/rand"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// Leaks are the names that world.Spec.Leaks may hold: each brings one source of chance back, to prove that verify
// would notice it.
var Leaks = []string{"aslr", "tsc", "vdso", "auxv-random", "random", "order", "meminfo", "clock", "pids", "ports", "instructions"}

type leakSet struct {
	host               host.Leaks
	kernel             kernel.Leaks
	clock, pids, ports bool
}

func (w *World) leaks() leakSet {
	on := func(name string) bool { return slices.Contains(w.spec.Leaks, name) }
	l := leakSet{
		// The machine's own vDSO reads the TSC: with that trapped, the time that it returns would be steady on some machines.
		clock: on("clock"), pids: on("pids"), ports: on("ports"),
		host: host.Leaks{ASLR: on("aslr"), TSC: on("tsc") || on("vdso"), VDSO: on("vdso"), Random: on("auxv-random"), Instructions: on("instructions")},
	}
	if on("random") {
		l.kernel.Random = func(b []byte) { crand.Read(b) }
	}
	if on("order") {
		l.kernel.Order = rand.Shuffle
	}
	if on("meminfo") {
		l.kernel.MemInfo = func(path string) string {
			b, _ := os.ReadFile(path)
			return string(b)
		}
	}
	return l
}

// spoil lets chance into a fresh node.
func (l leakSet) spoil(k *kernel.Kernel, node *kernel.Node) {
	if l.clock {
		node.OffsetNs += time.Now().UnixNano() % 1e9
	}
	if l.pids {
		node.NextPID = 10 + int(time.Now().UnixNano()%20000)
	}
	if l.ports {
		k.Net.StartPorts(node.Net, 32768+uint16(time.Now().UnixNano()%20000))
	}
}
