//go:build linux && amd64

package linux

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// cgroupRoot is where the control group of a node is mounted; programs see no others.
const cgroupRoot = "/sys/fs/cgroup"

// synthCgroup are the files by which programs learn how their node is bounded (cgroup-v2.rst of the kernel).
func synthCgroup(k *Kernel, n *Node, path string) (synthNode, bool) {
	if path == "/proc/cgroups" {
		text := fixedSynth[path]
		for _, controller := range []string{"cpuset", "cpu", "cpuacct", "memory", "pids"} {
			text += controller + "\t0\t1\t1\n"
		}
		return synthText(text), true
	}
	name, ok := strings.CutPrefix(path, cgroupRoot)
	if !ok {
		return synthNode{}, false
	}
	files := map[string]func() string{
		"cgroup.controllers":  func() string { return "cpuset cpu memory pids\n" },
		"cgroup.procs":        func() string { return cgroupProcs(k, n) },
		"cgroup.type":         func() string { return "domain\n" },
		"cpu.max":             func() string { return cpuMax(n) },
		"memory.max":          func() string { return bound(n.Memory.LimitBytes) },
		"memory.high":         func() string { return bound(0) },
		"memory.low":          func() string { return "0\n" },
		"memory.min":          func() string { return "0\n" },
		"memory.swap.max":     func() string { return "0\n" },
		"memory.swap.current": func() string { return "0\n" },
		"memory.current":      func() string { return decimal(memoryCurrent(k, n)) },
		"memory.events": func() string {
			kills := decimal(int64(n.Memory.Kills))
			return "low 0\nhigh 0\nmax " + kills + "oom " + kills + "oom_kill " + kills + "oom_group_kill 0\n"
		},
		"pids.max":     func() string { return bound(int64(n.Tasks)) },
		"pids.current": func() string { return decimal(int64(threadsOf(k, n))) },
	}
	if name == "" {
		return synthNames(slices.Sorted(maps.Keys(files))...), true
	}
	content, ok := files[name[1:]]
	return synthNode{kind: synthFile, mode: 0o444, content: content}, ok
}

// cpuMax is a share of a CPU, as microseconds of each 100 ms.
func cpuMax(n *Node) string {
	const periodUs = 100_000
	if n.CPUPPM == 0 {
		return "max 100000\n"
	}
	return itoa(int(max(n.CPUPPM*periodUs/1_000_000, 1))) + " 100000\n"
}

// bound writes a limit as control groups do; 0 is none.
func bound(v int64) string {
	if v == 0 {
		return "max\n"
	}
	return decimal(v)
}

func decimal(v int64) string { return strconv.FormatInt(v, 10) + "\n" }

func cgroupProcs(k *Kernel, n *Node) string {
	var b strings.Builder
	for _, id := range n.Procs {
		b.WriteString(itoa(k.Procs[id].PID) + "\n")
	}
	return b.String()
}

// threadsOf counts the threads of a node's programs, as its control group does.
func threadsOf(k *Kernel, n *Node) int {
	count := 0
	for _, id := range n.Procs {
		count += len(k.Procs[id].Threads)
	}
	return count
}
