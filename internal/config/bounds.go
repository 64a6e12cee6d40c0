package config

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// bounds reads what a node may have, and what a container's process 1 is.
func (l *loader) bounds(d *declared) {
	v := d.value
	d.spec.Bounds = world.Bounds{
		MemoryBytes: valueOr(v.get("mem_limit"), int64(0)),
		OOMScoreAdj: int(valueOr(v.get("oom_score_adj"), int64(0))),
		Tasks:       int(max(valueOr(v.get("pids_limit"), int64(0)), 0)),
		ShmBytes:    valueOr(v.get("shm_size"), int64(0)),
		CPUPPM:      l.share(d),
		Rlimits:     l.ulimits(d),
	}
	if d.image != nil && !v.has("shm_size") {
		d.spec.Bounds.ShmBytes = 64 << 20 // Docker's
	}
	l.sysctls(d)
	d.spec.ReadOnly = valueOr(v.get("read_only"), false)
	if groups := v.get("group_add"); groups != nil {
		d.spec.Groups = groups.words()
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

// share is a node's share of a CPU in parts per million, 0 if it has one or more.
func (l *loader) share(d *declared) int64 {
	cpus, quota, period := d.value.get("cpus"), d.value.get("cpu_quota"), d.value.get("cpu_period")
	share := valueOr(cpus, 0.0)
	switch {
	case cpus != nil || quota == nil:
		for _, key := range []string{"cpu_quota", "cpu_period"} {
			if e := d.value.entry(key); e != nil {
				l.idle(e.key.position, d.key+"."+key, "the node has `cpus`, or no quota")
			}
		}
	default:
		share = float64(max(valueOr(quota, int64(0)), 0)) / float64(valueOr(period, int64(100_000)))
	}
	for _, key := range []string{"cpus", "cpu_quota", "cpu_period"} {
		if e := d.value.entry(key); e != nil && share >= 1 {
			l.idle(e.key.position, d.key+"."+key, "every node is one CPU")
		}
	}
	if share <= 0 || share >= 1 {
		return 0
	}
	return max(int64(math.Round(share*1e6)), 1)
}

// mostFiles is what Linux lets a process have of open files (fs.nr_open).
const mostFiles = 1 << 20

// ulimits reads what a node's processes begin with.
func (l *loader) ulimits(d *declared) []world.Rlimit {
	n := d.value.get("ulimits")
	if n == nil {
		return nil
	}
	var limits []world.Rlimit
	for _, e := range n.entries {
		key := d.key + ".ulimits." + e.name
		if e.value.bad {
			continue
		}
		if !slices.Contains(world.RlimitNames, e.name) {
			l.fail(e.key.position, suggest(e.name, world.RlimitNames), "%s: there is no limit %q", key, shorten(e.name))
			continue
		}
		soft := valueOr(e.value, int64(-1))
		hard := soft
		if e.value.kind == mapping {
			hard = valueOr(e.value.get("hard"), int64(-1))
			soft = valueOr(e.value.get("soft"), hard)
		}
		r := world.Rlimit{Name: e.name, Soft: unlimited(soft), Hard: unlimited(hard)}
		switch {
		case r.Soft > r.Hard:
			l.fail(e.value.position, "give it a hard limit that is no lower than the soft one", "%s: the soft limit is above the hard one", key)
			continue
		case e.name == "nofile" && r.Hard > mostFiles:
			if hard >= 0 {
				l.fail(e.value.position, "write at most "+strconv.Itoa(mostFiles), "%s: Linux gives a process no more than %d open files", key, mostFiles)
				continue
			}
			r.Hard, r.Soft = mostFiles, min(r.Soft, mostFiles)
		}
		limits = append(limits, r)
	}
	slices.SortFunc(limits, func(a, b world.Rlimit) int {
		return slices.Index(world.RlimitNames, a.Name) - slices.Index(world.RlimitNames, b.Name)
	})
	return limits
}

func unlimited(v int64) uint64 {
	if v < 0 {
		return world.Unlimited
	}
	return uint64(v)
}

// tmpfsOptions reads options such as size=64m,mode=1770.
func (l *loader) tmpfsOptions(at position, key, options string, v *world.Volume) {
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		number, err := strconv.ParseInt(value, 10, 32)
		ok := err == nil && number >= 0
		switch name {
		case "", "rw", "exec", "noexec", "suid", "nosuid", "dev", "nodev", "noatime", "relatime", "z", "Z":
			ok = true
		case "ro":
			v.ReadOnly, ok = true, true
		case "size":
			v.SizeBytes, ok = readSize(value)
		case "mode":
			v.Mode, ok = permissions("0" + value)
		case "uid":
			v.UID = int(number)
		case "gid":
			v.GID = int(number)
		default:
			l.fail(at, "options are size, mode, uid, gid, ro, rw and those that change nothing here, such as noexec", "%s: option %q is not known", key, shorten(option))
			return
		}
		if !ok {
			l.fail(at, "write size=64m, mode=1770, uid=1000", "%s: option %q cannot be read", key, shorten(option))
		}
	}
}

// permissions reads a mode: 0o1770, 01770, or a decimal number.
func permissions(s string) (uint32, bool) {
	v, err := strconv.ParseUint(strings.TrimSpace(s), 0, 32)
	return uint32(v), err == nil && v > 0 && v <= 0o7777
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
