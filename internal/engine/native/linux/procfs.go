//go:build linux && amd64

package linux

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"golang.org/x/sys/unix"
)

// synthKind is what a name under /proc or /sys refers to.
type synthKind uint8

const (
	synthNone synthKind = iota
	synthDir
	synthFile
	synthLink
)

// synthNode is one name of /proc or /sys as a process sees it: all values are the engine's own, so that nothing of
// the machine underneath shows (proc(5), sysfs(5)).
type synthNode struct {
	kind    synthKind
	mode    uint32
	target  string // of a link
	content func() string
	names   func() []string // of a directory
	space   kernel.SpaceID  // of a file that is memory
	inode   fs.InodeID      // of a link that leads to an open file: its inode, if it has one
	file    kernel.FileID   // and its description, if it has none
	uid     int             // the owner
	gid     int
}

// synths serves the tree with /proc and /sys as a thread sees them (fs.Synth).
type synths struct{ k *Kernel }

func (s *synths) Lookup(path string) (fs.SynthAttr, errno.Errno) {
	t := s.k.Caller
	if t == nil {
		return fs.SynthAttr{}, errno.ENOENT
	}
	n := synth(s.k, t, path)
	a := fs.SynthAttr{Mode: n.mode, UID: n.uid, GID: n.gid, Target: n.target, Inode: n.inode, File: n.file}
	switch n.kind {
	case synthNone:
		return fs.SynthAttr{}, errno.ENOENT
	case synthDir:
		a.Mode |= unix.S_IFDIR
	case synthFile:
		a.Mode |= unix.S_IFREG
	case synthLink:
		a.Mode |= unix.S_IFLNK
	}
	return a, errno.OK
}

func (s *synths) ReadDir(path string) ([]string, errno.Errno) {
	t := s.k.Caller
	if t == nil {
		return nil, errno.ENOENT
	}
	n := synth(s.k, t, path)
	if n.kind != synthDir {
		return nil, errno.ENOENT
	}
	return n.names(), errno.OK
}

func synthText(s string) synthNode {
	return synthNode{kind: synthFile, mode: 0o444, content: func() string { return s }}
}

func synthNames(names ...string) synthNode {
	return synthNode{kind: synthDir, mode: 0o555, names: func() []string { return names }}
}

// synthSetting is a setting that root may write.
func synthSetting(value string) synthNode {
	n := synthText(value + "\n")
	n.mode = 0o644
	return n
}

// fixedSynth are the files that are the same for all nodes and processes.
var fixedSynth = map[string]string{
	"/proc/loadavg":     "0.00 0.00 0.00 1/1 10\n",
	"/proc/version":     "Linux version " + KernelRelease + " (bloodhound) " + kernelVersion + "\n",
	"/proc/filesystems": "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\nnodev\toverlay\n\text4\n",
	"/proc/cmdline":     "root=/dev/vda ro\n",
	"/proc/stat": "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 0\nprocesses 1\nprocs_running " +
		"1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
	"/proc/vmstat": "nr_free_pages 1572864\n", "/proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
	"/proc/modules": "", "/proc/diskstats": "", "/proc/partitions": "major minor  #blocks  name\n\n",
	"/proc/devices": "Character devices:\n  1 mem\n  5 /dev/tty\n\nBlock devices:\n",
	"/proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\n", "/proc/misc": "", "/proc/interrupts": "", "/proc/zoneinfo": "",
	"/proc/cpuinfo": "processor\t: 0\nvendor_id\t: Bloodhound\ncpu family\t: 6\nmodel\t\t: 0\nmodel name\t: Bloodhound virtual " +
		"CPU\nstepping\t: 0\ncpu MHz\t\t: 1000.000\ncache size\t: 4096 KB\nphysical id\t: 0\nsiblings\t: 1\ncore id\t\t: 0\ncpu " +
		"cores\t: 1\napicid\t\t: 0\nfpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 13\nwp\t\t: yes\nflags\t\t: fpu tsc msr " +
		"cx8 cmov mmx fxsr sse sse2 syscall nx lm rep_good nopl cpuid\nbugs\t\t:\nbogomips\t: 2000.00\nclflush size\t: " +
		"64\ncache_alignment\t: 64\naddress sizes\t: 48 bits physical, 48 bits virtual\npower management:\n\n",

	"/proc/sys/kernel/osrelease": KernelRelease + "\n", "/proc/sys/kernel/ostype": "Linux\n", "/proc/sys/kernel/version": kernelVersion + "\n",
	"/proc/sys/kernel/pid_max": "32768\n", "/proc/sys/kernel/threads-max": "32768\n", "/proc/sys/kernel/ngroups_max": "65536\n",
	"/proc/sys/kernel/cap_last_cap":         "40\n",
	"/proc/sys/kernel/random/entropy_avail": "256\n", "/proc/sys/kernel/random/boot_id": "b100d400-0000-4000-8000-000000000001\n",
	"/proc/sys/kernel/shmmax": "18446744073692774399\n", "/proc/sys/kernel/shmall": "18446744073692774399\n",
	"/proc/sys/kernel/shmmni": "4096\n", "/proc/sys/kernel/sem": "32000\t1024000000\t500\t32000\n",
	"/proc/sys/kernel/msgmax": "8192\n", "/proc/sys/kernel/msgmnb": "16384\n", "/proc/sys/kernel/msgmni": "32000\n",
	"/proc/sys/net/unix/max_dgram_qlen":  "10\n",
	"/proc/sys/net/ipv4/tcp_fin_timeout": "60\n", "/proc/sys/net/ipv4/tcp_orphan_retries": "0\n",
	"/proc/sys/net/ipv4/tcp_retries2": "15\n", "/proc/sys/net/ipv4/tcp_syn_retries": "6\n", "/proc/sys/net/ipv4/tcp_synack_retries": "5\n",
	"/proc/sys/kernel/core_pattern": "core\n", "/proc/sys/kernel/randomize_va_space": "0\n",
	"/proc/sys/kernel/perf_event_paranoid": "4\n", "/proc/sys/kernel/seccomp/actions_avail": "kill_process kill_thread trap errno user_notif trace log allow\n",
	"/proc/sys/kernel/yama/ptrace_scope": "1\n", "/proc/sys/kernel/sched_autogroup_enabled": "0\n", "/proc/sys/kernel/numa_balancing": "0\n",
	"/proc/sys/vm/overcommit_memory": "1\n", "/proc/sys/vm/max_map_count": "262144\n", "/proc/sys/vm/swappiness": "60\n",
	"/proc/sys/vm/overcommit_ratio": "50\n", "/proc/sys/vm/nr_hugepages": "0\n", "/proc/sys/vm/mmap_min_addr": "65536\n",
	"/proc/sys/fs/file-max": "9223372036854775807\n", "/proc/sys/fs/nr_open": "1048576\n",
	"/proc/sys/fs/pipe-max-size": "1048576\n", "/proc/sys/fs/file-nr": "0\t0\t9223372036854775807\n",
	"/proc/sys/fs/inotify/max_user_watches": "65536\n", "/proc/sys/fs/inotify/max_user_instances": "1024\n", "/proc/sys/fs/aio-max-nr": "65536\n",
	"/proc/sys/net/core/somaxconn": "4096\n", "/proc/sys/net/core/rmem_max": "212992\n",
	"/proc/sys/net/core/wmem_max": "212992\n", "/proc/sys/net/core/rmem_default": "212992\n", "/proc/sys/net/core/wmem_default": "212992\n",
	"/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n", "/proc/sys/net/ipv4/tcp_max_syn_backlog": "1024\n",
	"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n", "/proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
	"/proc/sys/net/ipv4/tcp_keepalive_time": "7200\n", "/proc/sys/net/ipv4/tcp_keepalive_intvl": "75\n",
	"/proc/sys/net/ipv4/tcp_keepalive_probes": "9\n", "/proc/sys/net/ipv4/tcp_fastopen": "0\n", "/proc/sys/net/ipv4/ip_unprivileged_port_start": "0\n",
	"/proc/sys/net/ipv4/ip_forward": "0\n", "/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic\n",
	"/proc/sys/net/ipv4/tcp_congestion_control": "cubic\n", "/proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n", "/proc/sys/net/ipv6/bindv6only": "0\n",

	"/sys/devices/system/cpu/online": "0\n", "/sys/devices/system/cpu/possible": "0\n", "/sys/devices/system/cpu/present": "0\n",
	"/sys/devices/system/cpu/kernel_max":  "0\n",
	"/sys/devices/system/cpu/cpu0/online": "1\n", "/sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
	"/sys/devices/system/cpu/cpu0/topology/physical_package_id":  "0\n",
	"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0\n", "/sys/devices/system/cpu/cpu0/topology/core_siblings_list": "0\n",
	"/sys/devices/system/node/online": "0\n", "/sys/devices/system/node/possible": "0\n",
	"/sys/devices/system/node/node0/cpulist": "0\n", "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 8388608 kB\nNode 0 MemFree: 6291456 kB\n",
	"/sys/kernel/mm/transparent_hugepage/enabled":        "always madvise [never]\n",
	"/sys/kernel/mm/transparent_hugepage/defrag":         "always defer defer+madvise madvise [never]\n",
	"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size": "2097152\n",
	"/sys/kernel/mm/transparent_hugepage/shmem_enabled":  "always within_size advise [never] deny force\n",
	"/sys/class/net/lo/operstate":                        "unknown\n", "/sys/class/net/eth0/operstate": "up\n", "/sys/class/net/eth0/mtu": "1500\n",
	"/sys/class/net/lo/mtu": "65536\n", "/sys/class/net/eth0/speed": "10000\n",
	"/sys/kernel/security/apparmor/features/domain/version": "",
	"/sys/fs/cgroup/cgroup.controllers":                     "\n", "/sys/fs/cgroup/cgroup.procs": "1\n",
}

// fixedTree has the names in each directory above the fixed files.
var fixedTree = func() map[string][]string {
	tree := map[string][]string{}
	for _, p := range slices.Sorted(maps.Keys(fixedSynth)) {
		for {
			i := strings.LastIndexByte(p, '/')
			dir, name := p[:i], p[i+1:]
			if dir == "" {
				break
			}
			if !slices.Contains(tree[dir], name) {
				tree[dir] = append(tree[dir], name)
			}
			p = dir
		}
	}
	for _, names := range tree {
		slices.Sort(names)
	}
	return tree
}()

// procFiles are the names in the directory of a process.
var procFiles = []string{"attr", "auxv", "cgroup", "clear_refs", "cmdline", "comm", "cwd", "environ", "exe", "fd", "fdinfo", "io",
	"limits", "loginuid", "maps", "mem", "mountinfo", "mounts", "net", "ns",
	"oom_adj", "oom_score", "oom_score_adj", "personality", "root", "schedstat", "sched", "smaps", "stat", "statm", "status", "task", "timerslack_ns", "wchan"}

// synth looks up a name under /proc or /sys for a thread.
func synth(k *Kernel, t *Thread, path string) synthNode {
	path = strings.TrimSuffix(path, "/")
	if k.Leaks.MemInfo != nil && (path == "/proc/meminfo" || path == "/proc/loadavg" || path == "/proc/stat" || path == "/proc/uptime") {
		return synthText(k.Leaks.MemInfo(path))
	}
	switch path {
	case "/proc":
		return synthNode{kind: synthDir, mode: 0o555, names: func() []string {
			names := append([]string{"self", "thread-self", "net", "mounts", "uptime", "meminfo"}, fixedTree["/proc"]...)
			for _, id := range k.Node(t).Procs {
				names = append(names, itoa(k.Procs[id].PID))
			}
			if k.ProcByPID(t.Node, kernel.InitPID) != nil {
				return names
			}
			return append(names, itoa(kernel.InitPID))
		}}
	case "/proc/self":
		return synthNode{kind: synthLink, mode: 0o777, target: itoa(k.Proc(t).PID)}
	case "/proc/thread-self":
		return synthNode{kind: synthLink, mode: 0o777, target: itoa(k.Proc(t).PID) + "/task/" + itoa(t.TID)}
	case "/proc/net":
		return synthNode{kind: synthLink, mode: 0o777, target: "self/net"}
	case "/proc/mounts":
		return synthNode{kind: synthLink, mode: 0o777, target: "self/mounts"}
	case "/proc/meminfo":
		return synthNode{kind: synthFile, mode: 0o444, content: func() string { return meminfo(free(k, k.Node(t))) }}
	case "/sys/devices/system/node/node0/meminfo":
		return synthNode{kind: synthFile, mode: 0o444, content: func() string {
			return fmt.Sprintf("Node 0 MemTotal: %d kB\nNode 0 MemFree: %d kB\n", TotalMemory>>10, free(k, k.Node(t))>>10)
		}}
	case "/proc/uptime":
		s := float64(MonoNs(k, k.Node(t))/1e7) / 100
		return synthText(fmt.Sprintf("%.2f %.2f\n", s, s))
	case "/proc/sys/kernel/hostname":
		return synthSetting(k.Node(t).Hostname)
	case "/proc/sys/kernel/domainname":
		return synthSetting(cmp.Or(k.Node(t).DomainName, "(none)"))
	case "/proc/sys/kernel/random/uuid":
		return synthNode{kind: synthFile, mode: 0o444, content: func() string {
			var b [16]byte
			random(k, t, b[:])
			b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
			return fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}}
	}
	if n, ok := synthNet(k, k.Node(t).Net, path); ok {
		return n
	}
	if k.Node(t).Bounded() {
		if n, ok := synthCgroup(k, k.Node(t), path); ok {
			return n
		}
	}
	if own := k.Node(t).Sysctls; len(own) > 0 {
		if n, ok := synthSysctl(own, path); ok {
			return n
		}
	}
	if n := k.CPUs(); n > 1 {
		if n, ok := synthCPUs(n, path); ok {
			return n
		}
	}
	if s, ok := fixedSynth[path]; ok {
		if setting, in := strings.CutPrefix(path, "/proc/sys/"); in {
			if _, ok := writableSysctl(world.SysctlName(setting)); ok {
				return synthSetting(strings.TrimSuffix(s, "\n"))
			}
		}
		return synthText(s)
	}
	if names, ok := fixedTree[path]; ok {
		return synthNames(names...)
	}
	rest, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return synthNode{}
	}
	first, rest, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(first)
	if err != nil || first != itoa(pid) {
		return synthNode{}
	}
	if pid == kernel.InitPID && k.ProcByPID(t.Node, pid) == nil {
		return synthInit(k, k.Node(t), rest)
	}
	p, th := procAndThread(k, t.Node, pid)
	if p == nil {
		return synthNode{}
	}
	n := synthPID(k, t, p, th, rest)
	n.uid, n.gid = p.Cred.EUID, p.Cred.EGID
	return n
}

// procAndThread is the process of a folder in /proc, and the thread that the folder is about, nil for a zombie.
func procAndThread(k *Kernel, n kernel.NodeID, pid int) (*Proc, *Thread) {
	if p := k.ProcByPID(n, pid); p != nil {
		if len(p.Threads) > 0 {
			return p, k.Threads[p.Threads[0]]
		}
		return p, nil
	}
	if th := k.ThreadByTID(n, pid); th != nil {
		return k.Proc(th), th
	}
	return nil, nil
}

// synthSysctl is a setting that a node has of its own, or a folder above one.
func synthSysctl(own []world.Sysctl, path string) (n synthNode, ok bool) {
	names := slices.Clone(fixedTree[path])
	for _, s := range own {
		p := s.Path()
		if p == path {
			return synthSetting(s.Value), true
		}
		if below, in := strings.CutPrefix(p, path+"/"); in {
			name, _, _ := strings.Cut(below, "/")
			names, ok = append(names, name), true
		}
	}
	if !ok || path == "/proc" {
		return n, false
	}
	slices.Sort(names)
	return synthNames(slices.Compact(names)...), true
}

// synthPID is a name below the directory of a process or thread.
func synthPID(k *Kernel, t *Thread, p *Proc, th *Thread, rest string) synthNode {
	if rest == "" {
		return synthNames(procFiles...)
	}
	task, ok := strings.CutPrefix(rest, "task")
	if !ok || task != "" && task[0] != '/' {
		return synthProc(k, t, p, th, rest)
	}
	if task == "" {
		return synthNode{kind: synthDir, mode: 0o555, names: func() []string {
			var names []string
			for _, id := range p.Threads {
				names = append(names, itoa(k.Threads[id].TID))
			}
			return names
		}}
	}
	tid, rest, _ := strings.Cut(task[1:], "/")
	for _, id := range p.Threads {
		if itoa(k.Threads[id].TID) != tid {
			continue
		}
		if rest == "" {
			return synthNames(procFiles...)
		}
		return synthProc(k, t, p, k.Threads[id], rest)
	}
	return synthNode{}
}

// synthInit is what can be seen of a process 1 that is none of the node's programs.
func synthInit(k *Kernel, n *Node, rest string) synthNode {
	name, line := "init", "init\x00"
	if main := k.Procs[n.Main]; n.Init == world.SmallInit && main != nil {
		name, line = "docker-init", "/sbin/docker-init\x00--\x00"+strings.Join(main.Argv, "\x00")+"\x00"
	}
	switch rest {
	case "":
		return synthNames("cgroup", "cmdline", "comm", "limits", "stat", "status")
	case "limits":
		var p Proc
		defaultLimits(&p)
		return synthText(procLimits(&p))
	case "cmdline":
		return synthText(line)
	case "comm":
		return synthText(name + "\n")
	case "cgroup":
		return synthText("0::/\n")
	case "stat":
		return synthText("1 (" + name + ") S 0 1 1 0 -1 0" + strings.Repeat(" 0", 43) + "\n")
	case "status":
		return synthText("Name:\t" + name + "\nState:\tS (sleeping)\nTgid:\t1\nPid:\t1\nPPid:\t0\n")
	}
	return synthNode{}
}

// firstMount is the id of a node's root mount (statx(2): stx_mnt_id, mountinfo).
const firstMount = 20

// mountLook is how a kind of mount shows in /proc/mounts.
var mountLook = map[fs.MountType]struct{ source, kind, options string }{
	fs.Disk: {"/dev/vda", "ext4", "relatime"}, fs.Tmpfs: {"tmpfs", "tmpfs", "nosuid,nodev"}, fs.Dev: {"tmpfs", "tmpfs", "nosuid"},
	fs.Proc: {"proc", "proc", "nosuid,nodev,noexec,relatime"}, fs.Sys: {"sysfs", "sysfs", "nosuid,nodev,noexec,relatime"},
}

func mountMode(m *fs.Mount) string {
	if m.ReadOnly || m.Type == fs.Sys {
		return "ro"
	}
	return "rw"
}

// mountTable is /proc/PID/mounts.
func mountTable(n *Node, root fs.InodeID) string {
	s := n.FS
	var b strings.Builder
	for i := range s.Mounts {
		m := &s.Mounts[i]
		target, inside := s.Below(root, m.Target)
		if !inside {
			continue
		}
		l := mountLook[m.Type]
		fmt.Fprintf(&b, "%s %s %s %s,%s 0 0\n", l.source, target, l.kind, mountMode(m), l.options)
	}
	if at, inside := s.Below(root, cgroupRoot); inside && n.Bounded() {
		b.WriteString("cgroup " + at + " cgroup2 ro,nosuid,nodev,noexec,relatime 0 0\n")
	}
	return b.String()
}

// mountInfo is /proc/PID/mountinfo.
func mountInfo(n *Node, root fs.InodeID) string {
	s := n.FS
	var b strings.Builder
	for i := range s.Mounts {
		m := &s.Mounts[i]
		target, inside := s.Below(root, m.Target)
		if !inside {
			continue
		}
		l, mode := mountLook[m.Type], mountMode(m)
		up := firstMount
		if i == 0 {
			up = 1
		}
		fmt.Fprintf(&b, "%d %d %d:%d / %s %s,%s - %s %s %s\n", firstMount+i, up, unix.Major(m.Dev), unix.Minor(m.Dev), target,
			mode, l.options, l.kind, l.source, mode)
	}
	if at, inside := s.Below(root, cgroupRoot); inside && n.Bounded() {
		fmt.Fprintf(&b, "%d %d 0:29 / %s ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw\n", firstMount+len(s.Mounts), firstMount, at)
	}
	return b.String()
}

// synthProc is one name in the directory of a process. th may be nil for a zombie.
func synthProc(k *Kernel, t *Thread, p *Proc, th *Thread, rest string) synthNode {
	lazy := func(mode uint32, f func() string) synthNode {
		return synthNode{kind: synthFile, mode: mode, content: f}
	}
	name := comm(p.Path)
	if th != nil && th.Comm != "" {
		name = th.Comm
	}
	switch rest {
	case "exe":
		s := k.Spaces[p.Space]
		if s == nil || s.Exe == 0 {
			return synthNode{}
		}
		return synthNode{kind: synthLink, mode: 0o777, target: shown(k, t, s.Exe), inode: s.Exe}
	case "cwd":
		if p.Cwd == 0 {
			return synthNode{}
		}
		return synthNode{kind: synthLink, mode: 0o777, target: shown(k, t, p.Cwd), inode: p.Cwd}
	case "root":
		return synthNode{kind: synthLink, mode: 0o777, target: shown(k, t, root(k, p)), inode: root(k, p)}
	case "cmdline":
		return lazy(0o444, func() string {
			if p.Zombie {
				return ""
			}
			return strings.Join(p.Argv, "\x00") + "\x00"
		})
	case "environ":
		return lazy(0o400, func() string { return strings.Join(p.Env, "\x00") + "\x00" })
	case "comm":
		return lazy(0o644, func() string { return name + "\n" })
	case "stat":
		return lazy(0o444, func() string { return procStat(k, p, th, name) })
	case "status":
		return lazy(0o444, func() string { return procStatus(k, p, th, name) })
	case "statm":
		return synthText("4096 2048 1024 256 0 2048 0\n")
	case "smaps":
		// How much of a map is in memory depends on the machine: programs read that all of the map is.
		return lazy(0o444, func() string { return detailMaps(procMaps(k, t, p)) })
	case "maps":
		return lazy(0o444, func() string { return procMaps(k, t, p) })
	case "limits":
		return lazy(0o444, func() string { return procLimits(p) })
	case "io":
		return synthText("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n")
	case "cgroup":
		return synthText("0::/\n")
	case "mounts":
		return lazy(0o444, func() string { return mountTable(k.Nodes[p.Node], p.Root) })
	case "mountinfo":
		return lazy(0o444, func() string { return mountInfo(k.Nodes[p.Node], p.Root) })
	case "oom_score", "oom_adj":
		return synthText("0\n")
	case "oom_score_adj":
		return lazy(0o644, func() string { return itoa(p.OOMAdj) + "\n" })
	case "loginuid":
		return lazy(0o644, func() string { return strconv.FormatUint(uint64(p.Login-1), 10) })
	case "personality":
		return synthText("00040000\n")
	case "schedstat":
		return synthText("0 0 0\n")
	case "wchan":
		return synthText("0")
	case "timerslack_ns":
		slack := int64(kernel.DefaultSlackNs)
		if th != nil {
			slack = th.SlackNs
		}
		return synthText(fmt.Sprintf("%d\n", slack))
	case "mem":
		n := lazy(0o600, func() string { return "" })
		n.space = p.Space
		return n
	case "auxv":
		return lazy(0o400, func() string { return string(p.Auxv) })
	case "fd", "fdinfo":
		return synthNode{kind: synthDir, mode: 0o500, names: func() []string { return openFDs(k, p) }}
	case "ns", "attr":
		return synthNames()
	}
	if fd, ok := strings.CutPrefix(rest, "fd/"); ok {
		return procFD(k, t, p, fd)
	}
	if fd, ok := strings.CutPrefix(rest, "fdinfo/"); ok {
		return procFDInfo(k, p, fd)
	}
	return procNet(k, t, rest)
}

// procNet has the files of /proc/PID/net.
func procNet(k *Kernel, t *Thread, rest string) synthNode {
	switch rest {
	case "net":
		return synthNames("dev", "if_inet6", "route", "tcp", "tcp6", "udp", "udp6", "unix", "snmp", "netstat")
	case "net/dev":
		return synthText(k.Net.ProcDev(k.Node(t).Net))
	case "net/if_inet6":
		return synthText(k.Net.ProcInet6(k.Node(t).Net))
	case "net/route":
		return synthText(k.Net.ProcRoute(k.Node(t).Net))
	case "net/tcp", "net/tcp6", "net/udp", "net/udp6":
		return synthText(k.Net.ProcSockets(k.Node(t).Net, strings.TrimPrefix(rest, "net/")))
	case "net/unix":
		return synthText(k.Net.ProcUnix(k.Node(t).Net))
	case "net/snmp", "net/netstat":
		return synthText("")
	}
	return synthNode{}
}

// openFDs are the names in /proc/PID/fd.
func openFDs(k *Kernel, p *Proc) (names []string) {
	if table := k.Tables[p.Table]; table != nil {
		for fd, s := range table.Slots {
			if s.File != 0 {
				names = append(names, itoa(fd))
			}
		}
	}
	return names
}

func procFDInfo(k *Kernel, p *Proc, fd string) synthNode {
	n, err := strconv.Atoi(fd)
	table := k.Tables[p.Table]
	if err != nil || table == nil || n < 0 || n >= len(table.Slots) || table.Slots[n].File == 0 {
		return synthNode{}
	}
	f := k.Files[table.Slots[n].File]
	return synthText(fmt.Sprintf("pos:\t%d\nflags:\t0%o\nmnt_id:\t%d\nino:\t%d\n", max(f.Pos, 0),
		f.Flags|kernel.Bit(table.Slots[n].Cloexec)*unix.O_CLOEXEC, mountOf(k, f), f.Inode))
}

// procFD is /proc/PID/fd/N: a link with the name of what is open.
func procFD(k *Kernel, t *Thread, p *Proc, fd string) synthNode {
	n, err := strconv.Atoi(fd)
	table := k.Tables[p.Table]
	if err != nil || table == nil || n < 0 || n >= len(table.Slots) || table.Slots[n].File == 0 {
		return synthNode{}
	}
	f := k.Files[table.Slots[n].File]
	out := synthNode{kind: synthLink, mode: [4]uint32{0o500, 0o300, 0o700, 0o700}[f.Flags&unix.O_ACCMODE], target: describe(k, f), inode: f.Inode}
	if f.Inode == 0 {
		out.file = f.ID
	} else {
		out.target = shown(k, t, f.Inode)
	}
	return out
}

// mountOf is the id of the mount that an open file lies on.
func mountOf(k *Kernel, f *File) int {
	if f.Inode == 0 {
		return firstMount - 5 // pipes and sockets are on a mount of the kernel's own
	}
	s := k.Nodes[f.Node].FS
	return firstMount + s.MountIndex(s.Get(f.Inode))
}

// shown names an inode as /proc does to a thread that reads a link there: by its own root directory.
func shown(k *Kernel, t *Thread, id fs.InodeID) string {
	s := k.Node(t).FS
	name, _ := s.Below(k.Proc(t).Root, nameOf(s, id))
	return name
}

// describe names an open file as readlink of /proc/self/fd does.
func describe(k *Kernel, f *File) string {
	if f.Inode != 0 {
		return nameOf(k.Nodes[f.Node].FS, f.Inode)
	}
	if link := k.Kind(f).Link; link != nil {
		return link(f)
	}
	return f.Path
}

func procState(k *Kernel, p *Proc, th *Thread) string {
	switch {
	case p.Zombie:
		return "Z (zombie)"
	case p.Stopped:
		return "T (stopped)"
	case th != nil && th.State == kernel.Blocked:
		return "S (sleeping)"
	}
	return "R (running)"
}

// ppid is a process' parent: none in its container, if the world outside has started it.
func ppid(k *Kernel, p *Proc) int {
	n := k.Nodes[p.Node]
	switch up := k.Procs[p.Parent]; {
	case up != nil:
		return up.PID
	case n.Init == world.OwnInit, n.Init == world.SmallInit && n.Main == p.ID:
		return kernel.InitPID
	}
	return 0
}

func procStat(k *Kernel, p *Proc, th *Thread, name string) string {
	tid := p.PID
	if th != nil {
		tid = th.TID
	}
	ticks := k.CPUTime(p) / 1e7
	// pid comm state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime priority
	// nice threads itrealvalue starttime vsize rss rsslim startcode endcode startstack kstkesp kstkeip ...
	return fmt.Sprintf("%d (%s) %c %d %d %d 0 -1 4194304 0 0 0 0 %d 0 0 0 20 0 %d 0 %d 16777216 2048 18446744073709551615 4194304 "+
		"8388608 140737488347136 0 0 0 0 0 0 0 0 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		tid, name, procState(k, p, th)[0], ppid(k, p), p.PGID, p.SID, ticks, max(len(p.Threads), 1), (bootTicks+p.StartNs)/1e7, p.ExitSignal)
}

const bootTicks = 1000e9 // what CLOCK_BOOTTIME shows at world time 0

func procStatus(k *Kernel, p *Proc, th *Thread, name string) string {
	tid := p.PID
	if th != nil {
		tid = th.TID
	}
	var pend, ign, caught uint64
	for sig := 1; sig <= kernel.NumSignals; sig++ {
		switch h := p.Actions[sig].Handler; {
		case h == kernel.SigIgnore:
			ign |= kernel.SignalBit(sig)
		case h != kernel.SigDefault:
			caught |= kernel.SignalBit(sig)
		}
	}
	for _, s := range p.Pending {
		pend |= kernel.SignalBit(s.Number)
	}
	c := &p.Cred
	return fmt.Sprintf("Name:\t%s\nUmask:\t%04o\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\nUid:\t%d\t%d\t%d\t%d\nGid:\t%d\t%d\t%d\t%d\nFDSize:\t256\nGroups:\t \nVmPeak:\t   16384 kB\nVmSize:\t   16384 kB\nVmLck:\t       0 kB\nVmHWM:\t    8192 kB\nVmRSS:\t    8192 kB\nVmData:\t    4096 kB\nVmStk:\t     132 kB\nThreads:\t%d\nSigQ:\t0/1024\nSigPnd:\t0000000000000000\nShdPnd:\t%016x\nSigBlk:\t0000000000000000\nSigIgn:\t%016x\nSigCgt:\t%016x\nCapInh:\t0000000000000000\nCapPrm:\t%016x\nCapEff:\t%016x\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t%d\nSeccomp:\t0\nCpus_allowed:\t1\nCpus_allowed_list:\t0\nMems_allowed:\t1\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
		name, p.Umask, procState(k, p, th), p.PID, tid, ppid(k, p), c.UID, c.EUID, c.SUID, c.FSUID, c.GID, c.EGID, c.SGID,
		c.FSGID, max(len(p.Threads), 1), pend, ign, caught, c.PermittedCaps(), c.EffectiveCaps(), kernel.Bit(p.NoNewPrivs))
}

func procLimits(p *Proc) string {
	var b strings.Builder
	b.WriteString("Limit                     Soft Limit           Hard Limit           Units     \n")
	show := func(v uint64) string {
		if v == ^uint64(0) {
			return "unlimited"
		}
		return strconv.FormatUint(v, 10)
	}
	for _, l := range []struct {
		name  string
		which int
		unit  string
	}{{"Max cpu time", 0, "seconds"}, {"Max file size", 1, "bytes"}, {"Max data size", 2, "bytes"},
		{"Max stack size", 3, "bytes"}, {"Max core file size", 4, "bytes"},
		{"Max resident set", 5, "bytes"}, {"Max processes", 6, "processes"}, {"Max open files", 7, "files"},
		{"Max locked memory", 8, "bytes"}, {"Max address space", 9, "bytes"},
		{"Max file locks", 10, "locks"}, {"Max pending signals", 11, "signals"}, {"Max msgqueue size", 12, "bytes"},
		{"Max nice priority", 13, ""}, {"Max realtime priority", 14, ""}, {"Max realtime timeout", 15, "us"}} {
		fmt.Fprintf(&b, "%-25s %-20s %-20s %-10s\n", l.name, show(p.Limits[l.which][0]), show(p.Limits[l.which][1]), l.unit)
	}
	return b.String()
}

// procMaps is the real map of a process without what belongs to the machine underneath: files have the names, devices and
// inodes of the node's tree, and the engine's own have none. Neighbours that do not differ, nor by their flags, are one line: whether Linux
// makes one map of them depends on whether the process was forked since, as all processes of a copy of a world were (anon_vma_chain of struct
// vm_area_struct).
func procMaps(k *Kernel, t *Thread, p *Proc) string {
	if p.Zombie || len(p.Threads) == 0 {
		return ""
	}
	tree, space := k.Nodes[p.Node].FS, k.Spaces[p.Space]
	files := space.MappedFiles()
	var list []shownMap
	var flags map[uint64]string // of the real maps, once they are needed
	var last uint64             // where the real map begins that was read last
	wasBarred := false          // that one
	for line := range strings.Lines(k.M.Maps(p.Threads[0])) {
		m, ok := machine.ParseMap(line)
		if !ok || m.Barred() {
			continue
		}
		name, dev, inode := m.Name, uint64(0), fs.InodeID(0)
		switch {
		case strings.HasPrefix(name, "/memfd:bloodhound-vdso"):
			name = ownCode
		case name == "[vdso]", name == "[vvar]", name == "[vvar_vclock]", name == "[vsyscall]":
			continue
		case strings.HasPrefix(name, "[anon"):
			name = ""
		case strings.HasPrefix(name, "/"):
			f, known := files[m.Name]
			if known && f == nil {
				f = space.Mapped(&m)
			}
			if f != nil {
				name, dev, inode = mappedName(tree, f), f.Dev, f.File
			} else if m.Blob != 0 {
				name = ""
			} else {
				name = inWorld(tree, name)
			}
			name, _ = tree.Below(k.Proc(t).Root, name)
		}
		access, barred := shownAs(space, &m, strings.Fields(line)[1])
		now := shownMap{m.Start, m.End, m.Offset, access, name, dev, inode, m.Blob}
		before := last
		last = m.Start
		n := len(list)
		more := n > 0 && list[n-1].continues(&now)
		if more && flags == nil && !barred && !wasBarred {
			flags = k.M.MapFlags(p.Threads[0])
		}
		if more && (barred || wasBarred || flags[before] == flags[last]) {
			list[n-1].end = now.end
		} else {
			list = append(list, now)
		}
		wasBarred = barred
	}
	var b strings.Builder
	for _, m := range list {
		head := fmt.Sprintf("%08x-%08x %s %08x %02x:%02x %d", m.start, m.end, m.access, m.offset, unix.Major(m.dev), unix.Minor(m.dev), m.inode)
		if m.name == "" {
			b.WriteString(head + " \n")
		} else {
			fmt.Fprintf(&b, "%-72s %s\n", head, m.name)
		}
	}
	return b.String()
}

// shownMap is a line of a node's /proc/PID/maps.
type shownMap struct {
	start, end, offset uint64
	access, name       string
	dev                uint64
	inode              fs.InodeID
	blob               int64
}

// continues reports whether n is more of the map m.
func (m *shownMap) continues(n *shownMap) bool {
	offset := m.offset
	if m.inode != 0 {
		offset += m.end - m.start
	}
	return m.end == n.start && m.access == n.access && m.name == n.name && m.name != ownCode && m.dev == n.dev &&
		m.inode == n.inode && m.blob == n.blob && offset == n.offset
}

// ownCode is what the engine's own map of code is called.
const ownCode = "[vdso]"

// mappedName is what a mapped file is called now.
func mappedName(s *fs.State, f *kernel.FileMap) string {
	const gone = " (deleted)"
	if s.Get(f.File) == nil {
		return strings.TrimSuffix(f.Path, gone) + gone
	}
	return nameOf(s, f.File)
}

// inWorld is the path by which a node sees a file of the machine: below the mount of the longest folder that it lies in. It
// is nothing for a file that lies in none.
func inWorld(s *fs.State, path string) string {
	best, seen := -1, ""
	for i := range s.Mounts {
		m := &s.Mounts[i]
		if m.Layer == fs.NoLayer {
			continue
		}
		source := strings.TrimRight(s.Config.Layers[m.Layer], "/")
		rest, ok := strings.CutPrefix(path, source)
		if ok && len(source) > best && (rest == "" || rest[0] == '/') {
			best, seen = len(source), strings.TrimRight(m.Target, "/")+rest
		}
	}
	return seen
}

// detailMaps adds to each line of a map what smaps reports (proc(5)).
func detailMaps(maps string) string {
	var b strings.Builder
	for line := range strings.Lines(maps) {
		b.WriteString(line)
		var from, to uint64
		fmt.Sscanf(line, "%x-%x", &from, &to)
		kib := (to - from) / 1024
		for _, f := range []string{"Size", "Rss", "Pss", "Private_Dirty", "Referenced", "Anonymous"} {
			fmt.Fprintf(&b, "%-16s%8d kB\n", f+":", kib)
		}
	}
	return b.String()
}

// synthWrite takes a write to a file of /proc or /sys.
func synthWrite(k *Kernel, t *Thread, path string, data []byte) unix.Errno {
	text := strings.TrimSpace(strings.TrimRight(string(data), "\x00"))
	if strings.HasPrefix(path, "/proc/sys/") {
		return writeSysctl(k, t, path, text)
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/proc/"), "/")
	if thread, ok := strings.CutPrefix(rest, "task/"); ok {
		first, rest, _ = strings.Cut(thread, "/")
	}
	pid, _ := strconv.Atoi(first)
	if p, th := procAndThread(k, t.Node, pid); th != nil {
		switch rest {
		case "oom_score_adj":
			v, err := strconv.Atoi(text)
			if err != nil || v < -1000 || v > 1000 {
				return unix.EINVAL
			}
			p.OOMAdj = v
			return 0
		case "comm":
			if p != k.Proc(t) {
				return unix.EINVAL
			}
			th.Comm = comm(text)
			return 0
		case "loginuid": // pam_loginuid(8) sets its own
			v, err := strconv.ParseUint(text, 10, 32)
			switch {
			case p != k.Proc(t):
				return unix.EPERM
			case err != nil:
				return unix.EINVAL
			case !p.Cred.May(unix.CAP_AUDIT_CONTROL) && (p.Login != 0 || uint32(v) == ^uint32(0)):
				return unix.EPERM
			}
			p.Login = uint32(v) + 1
			return 0
		}
	}
	k.Refuse(t, "write to "+path, unix.EACCES)
	return unix.EACCES
}
