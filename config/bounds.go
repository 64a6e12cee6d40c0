package config

import (
	"math"
	"strings"

	"github.com/bloodhound-dst/bloodhound/world"
)

// bounds reads what a node may have, and what a container's process 1 is.
func (l *loader) bounds(d *declared) {
	v := d.value
	d.spec.Bounds = world.Bounds{
		MemoryBytes: valueOr(v.get("mem_limit"), int64(0)),
		OOMScoreAdj: int(valueOr(v.get("oom_score_adj"), int64(0))),
	}
	if d.image != nil {
		d.spec.Init = world.MainInit
		if valueOr(v.get("init"), false) {
			d.spec.Init = world.SmallInit
		}
	} else if e := v.entry("init"); e != nil {
		l.idle(e.key.position, d.key+".init", "a node without an image is a machine, and has an init of its own")
	}
}

// sizeUnits are those of Docker, each a power of 1024.
const sizeUnits = "bkmgtp"

// readSize reads a number of bytes as Docker does: 64m, 1.5 GB, 1gib, 4096.
func readSize(s string) (int64, bool) {
	unit := strings.TrimLeft(s, "0123456789.")
	n, ok := finite(strings.TrimSuffix(s, unit))
	if !ok || n < 0 {
		return 0, false
	}
	power := 0
	if unit = strings.ToLower(strings.TrimSpace(unit)); unit != "" {
		power = strings.IndexByte(sizeUnits, unit[0])
		if rest := unit[1:]; power < 0 || rest != "" && (power == 0 || rest != "b" && rest != "ib") {
			return 0, false
		}
	}
	bytes := n * math.Pow(1024, float64(power))
	if bytes > math.MaxInt64/2 {
		return 0, false
	}
	return int64(bytes), true
}
