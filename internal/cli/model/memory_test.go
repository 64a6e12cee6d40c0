package model

import (
	"os"
	"path/filepath"
	"testing"
)

// What is available is the least of what the machine has left and of what the control groups around the process have, whose files in memory can be dropped.
func TestAvailable(t *testing.T) {
	const mib = 1 << 20
	meminfo := "MemTotal:       8388608 kB\nMemFree:         100000 kB\nMemAvailable:   4194304 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, otherwiseBytes},
		"the machine":      {map[string]string{"proc/meminfo": meminfo}, 4096 * mib},
		"a group": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
			"sys/fs/cgroup/memory.current": "209715200\n", "sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 104857600\nactive_file 0\n"}, 924 * mib},
		"a group without a bound": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/b/memory.current": "209715200\n"}, 4096 * mib},
		"a group around it": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "536870912\n",
			"sys/fs/cgroup/a/b/memory.max": "1073741824\n"}, 512 * mib},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:devices:/x\n4:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "209715200\n", "sys/fs/cgroup/memory/x/memory.usage_in_bytes": "104857600\n"}, 100 * mib},
		"version 1, of which a container sees the root": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/docker/0123\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "209715200\n"}, 200 * mib},
		"more is in use than may be": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "100\n",
			"sys/fs/cgroup/memory.current": "200\n"}, 0},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := available(root); got != c.want {
			t.Errorf("%s: %d MiB, want %d", name, got/mib, c.want/mib)
		}
	}
}
