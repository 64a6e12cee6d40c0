//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// nodes measures how the cost of a virtual second and the memory of a world grow with its nodes, each a process of the
// quickstart's store without a client.
func (b *bench) nodes() ([]row, error) {
	var rows []row
	for _, count := range []int{3, 5, 9, 25} {
		const virtualS = 10
		r, peak, err := b.measure(b.cluster(count, fmt.Sprintf("simulation: {max_time: %ds}\n", virtualS)))
		if err != nil {
			return nil, err
		}
		wall := float64(r.Wall) / 1e9
		rows = append(rows, row{fmt.Sprintf("%d nodes, ten idle virtual seconds", count), fmt.Sprintf("%.2f s, %.0f MB", wall, float64(peak)/1e6), "",
			fmt.Sprintf("%.0f events/s; peak memory with all processes of the world", float64(r.Events)/wall)})
	}
	return rows, nil
}

// history measures how they grow with the number of operations.
func (b *bench) history() ([]row, error) {
	var rows []row
	for _, operations := range []int{100, 1_000, 10_000, 30_000} {
		const qps = 500
		load := fmt.Sprintf("simulation: {max_time: %ds}\nworkload:\n  driver: http\n  config:\n    target: [http://n1:8080, http://n2:8080, http://n3:8080]\n"+
			"    qps: %d\n    max_operations: %d\n    duration: %ds\n    clients: 20\n    operations:\n      - {type: put, "+
			"weight: 1, key_pattern: \"k{random:0-99}\"}\n"+
			"      - {type: get, weight: 1, key_pattern: \"k{random:0-99}\"}\n"+
			"properties: [{name: linearizable, kind: safety, check: {type: linearizability, operations: [put, get]}}]\n",
			operations/qps+60, qps, operations, operations/qps+50)
		r, peak, err := b.measure(b.cluster(3, load))
		if err != nil {
			return nil, err
		}
		wall := float64(r.Wall) / 1e9
		rows = append(rows, row{fmt.Sprintf("a history of %d operations, checked", r.Operations.Invoked),
			fmt.Sprintf("%.2f s, %.0f MB", wall, float64(peak)/1e6), "",
			fmt.Sprintf("%d events, %.0f /s; three nodes", r.Events, float64(r.Events)/wall)})
	}
	return rows, nil
}

// cluster is a configuration with so many nodes of the quickstart's store.
func (b *bench) cluster(count int, rest string) string {
	var peers, nodes []string
	for i := 1; i <= count; i++ {
		peers = append(peers, fmt.Sprintf("n%d=n%d:9090", i, i))
	}
	for i := 1; i <= count; i++ {
		nodes = append(nodes, fmt.Sprintf("  n%d: {command: %q}\n", i,
			fmt.Sprintf("%s serve -id n%d -peers %s -data /data/kv.log -ack-by entry", b.kv, i, strings.Join(peers, ","))))
	}
	return "nodes:\n" + strings.Join(nodes, "") + rest
}

// measure runs a configuration as a program of its own and gives the peak of the memory that it and all processes of
// its world have together.
func (b *bench) measure(text string) (*summary, uint64, error) {
	path := filepath.Join(b.dir, "growth.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(b.program, "run", path, "--seed", "1", "--json")
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(100 * time.Millisecond):
				if cmd.Process != nil {
					most = max(most, memory(cmd.Process.Pid))
				}
			}
		}
	}()
	var doc struct{ Run summary }
	err := decode(cmd, &doc)
	close(stop)
	return &doc.Run, <-peak, err
}

// memory is the proportional set size of a process and all its descendants, in bytes (smaps_rollup of proc_pid_smaps(5)).
func memory(pid int) uint64 {
	total := amount(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
	for _, id := range children(pid) {
		total += memory(id)
	}
	return total
}

// amount is the sum of some lines of a file such as /proc/meminfo, of the form "Name: 12 kB", in bytes. It is 0 without the file.
func amount(path string, names ...string) (total uint64) {
	b, _ := os.ReadFile(path)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && slices.Contains(names, f[0]) {
			kib, _ := strconv.ParseUint(f[1], 10, 64)
			total += kib << 10
		}
	}
	return total
}

// children are the processes that a process has started (proc_pid_children(5)).
func children(pid int) (ids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		for _, c := range strings.Fields(string(b)) {
			if id, err := strconv.Atoi(c); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
