package nodes

import (
	"math"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// bounds reads what a node may have, and what a container's process 1 is.
func bounds(l *load.State, d *load.Node) {
	v := d.Value
	d.Spec.Bounds = world.Bounds{
		MemoryBytes: source.ValueOr(v.Get("mem_limit"), int64(0)),
		OOMScoreAdj: int(source.ValueOr(v.Get("oom_score_adj"), int64(0))),
		Tasks:       int(max(source.ValueOr(v.Get("pids_limit"), int64(0)), 0)),
		ShmBytes:    source.ValueOr(v.Get("shm_size"), int64(0)),
		CPUPPM:      share(l, d),
		Rlimits:     ulimits(l, d),
	}
	if d.Image != nil && !v.Has("shm_size") {
		d.Spec.Bounds.ShmBytes = 64 << 20 // Docker's
	}
	sysctls(l, d)
	d.Spec.ReadOnly = source.ValueOr(v.Get("read_only"), false)
	if groups := v.Get("group_add"); groups != nil {
		d.Spec.Groups = groups.Words()
	}
	if d.Image != nil {
		d.Spec.Init = world.MainInit
		if source.ValueOr(v.Get("init"), false) {
			d.Spec.Init = world.SmallInit
		}
	} else if e := v.Entry("init"); e != nil {
		l.Idle(e.Key.Position, d.Key+".init", "the engine provides the init process of a node without an image")
	}
}

// share is a node's share of a CPU in parts per million, 0 if it has one or more.
func share(l *load.State, d *load.Node) int64 {
	cpus, quota, period := d.Value.Get("cpus"), d.Value.Get("cpu_quota"), d.Value.Get("cpu_period")
	share := source.ValueOr(cpus, 0.0)
	switch {
	case cpus != nil || quota == nil:
		for _, key := range []string{"cpu_quota", "cpu_period"} {
			if e := d.Value.Entry(key); e != nil {
				l.Idle(e.Key.Position, d.Key+"."+key, "the node has `cpus`, or no `cpu_quota`")
			}
		}
	default:
		share = float64(max(source.ValueOr(quota, int64(0)), 0)) / float64(source.ValueOr(period, int64(100_000)))
	}
	for _, key := range []string{"cpus", "cpu_quota", "cpu_period"} {
		if e := d.Value.Entry(key); e != nil && share >= 1 {
			l.Idle(e.Key.Position, d.Key+"."+key, "every node has one CPU")
		}
	}
	if share <= 0 || share >= 1 {
		return 0
	}
	return max(int64(math.Round(share*1e6)), 1)
}

// mostFiles is the largest number of open files that Linux lets a process have (fs.nr_open).
const mostFiles = 1 << 20

// ulimits reads what a node's processes begin with.
func ulimits(l *load.State, d *load.Node) []world.Rlimit {
	n := d.Value.Get("ulimits")
	if n == nil {
		return nil
	}
	var limits []world.Rlimit
	for _, e := range n.Entries {
		key := d.Key + ".ulimits." + e.Name
		if e.Value.Bad {
			continue
		}
		if !slices.Contains(world.RlimitNames, e.Name) {
			l.Fail(e.Key.Position, suggest.Remedy(e.Name, world.RlimitNames), "%s: unknown limit %q", key, source.Shorten(e.Name))
			continue
		}
		soft := source.ValueOr(e.Value, int64(-1))
		hard := soft
		if e.Value.Kind == source.Mapping {
			hard = source.ValueOr(e.Value.Get("hard"), int64(-1))
			soft = source.ValueOr(e.Value.Get("soft"), hard)
		}
		r := world.Rlimit{Name: e.Name, Soft: unlimited(soft), Hard: unlimited(hard)}
		switch {
		case r.Soft > r.Hard:
			l.Fail(e.Value.Position, "raise the hard limit to at least the soft limit", "%s: the soft limit is above the hard limit", key)
			continue
		case e.Name == "nofile" && r.Hard > mostFiles:
			if hard >= 0 {
				l.Fail(e.Value.Position, "write at most "+strconv.Itoa(mostFiles), "%s: Linux allows a process at most %d open files", key, mostFiles)
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
