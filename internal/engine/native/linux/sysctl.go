//go:build linux && amd64

package linux

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// settings holds the values that a node's sysctls change.
type settings struct {
	net    net.Tuning
	ipc    kernel.IPCLimits
	pidMax int
}

// Linux' least sizes of buffers, below which settings have no effect (socket(7)).
const (
	leastSndBuf = 4608
	leastRcvBuf = 2304
)

// defaultOrphanRetries is the meaning of a tcp_orphan_retries of 0 (tcp(7)).
const defaultOrphanRetries = 8

// defaultPIDMax is kernel.pid_max: the first number that no process gets.
const defaultPIDMax = 32768

// sysctlEffects are the settings that are numbers and have an effect.
var sysctlEffects = map[string]func(s *settings, v []int64){
	"kernel.msgmax":  func(s *settings, v []int64) { s.ipc.MsgBytes = v[0] },
	"kernel.msgmnb":  func(s *settings, v []int64) { s.ipc.MsgQueueBytes = v[0] },
	"kernel.msgmni":  func(s *settings, v []int64) { s.ipc.MsgQueues = int(v[0]) },
	"kernel.pid_max": func(s *settings, v []int64) { s.pidMax = int(v[0]) },
	"kernel.sem": func(s *settings, v []int64) {
		s.ipc.SemInSet, s.ipc.Sems, s.ipc.SemOps, s.ipc.SemSets = int(v[0]), v[1], int(v[2]), int(v[3])
	},
	"kernel.shmall":                       func(s *settings, v []int64) { s.ipc.ShmPages = v[0] },
	"kernel.shmmax":                       func(s *settings, v []int64) { s.ipc.ShmBytes = v[0] },
	"kernel.shmmni":                       func(s *settings, v []int64) { s.ipc.ShmSegments = int(v[0]) },
	"net.core.somaxconn":                  func(s *settings, v []int64) { s.net.Backlog = int(v[0]) },
	"net.ipv4.ip_local_port_range":        func(s *settings, v []int64) { s.net.FirstPort, s.net.LastPort = uint16(v[0]), uint16(v[1]) },
	"net.ipv4.ip_unprivileged_port_start": func(s *settings, v []int64) { s.net.Unprivileged = int(v[0]) },
	"net.ipv4.tcp_fin_timeout":            func(s *settings, v []int64) { s.net.FinTimeoutS = int(v[0]) },
	"net.ipv4.tcp_keepalive_intvl":        func(s *settings, v []int64) { s.net.KeepIntervalS = int(v[0]) },
	"net.ipv4.tcp_keepalive_probes":       func(s *settings, v []int64) { s.net.KeepCount = int(v[0]) },
	"net.ipv4.tcp_keepalive_time":         func(s *settings, v []int64) { s.net.KeepIdleS = int(v[0]) },
	"net.ipv4.tcp_orphan_retries": func(s *settings, v []int64) {
		if s.net.OrphanRetries = int(v[0]); v[0] == 0 {
			s.net.OrphanRetries = defaultOrphanRetries
		}
	},
	"net.ipv4.tcp_retries2": func(s *settings, v []int64) { s.net.DataRetries = int(v[0]) },
	"net.ipv4.tcp_rmem": func(s *settings, v []int64) {
		s.net.RcvBuf, s.net.RcvBufMax = max(v[1], leastRcvBuf), max(v[2], leastRcvBuf)
	},
	"net.ipv4.tcp_syn_retries":    func(s *settings, v []int64) { s.net.SynRetries = int(v[0]) },
	"net.ipv4.tcp_synack_retries": func(s *settings, v []int64) { s.net.SynAckRetries = int(v[0]) },
	"net.ipv4.tcp_wmem": func(s *settings, v []int64) {
		s.net.SndBuf, s.net.SndBufMax = max(v[1], leastSndBuf), max(v[2], leastSndBuf)
	},
	"net.ipv6.bindv6only":            func(s *settings, v []int64) { s.net.V6Only = v[0] != 0 },
	"net.ipv6.conf.all.disable_ipv6": func(s *settings, v []int64) { s.net.NoIPv6 = v[0] != 0 },
	"net.unix.max_dgram_qlen":        func(s *settings, v []int64) { s.net.DgramQueue = int(v[0]) },
}

// machineSysctls are settings of a whole machine, which no configuration sets, and which root's programs write. Memory is given as with
// overcommit_memory 1 and 0; strict accounting is not there.
var machineSysctls = func() []world.SysctlKind {
	numbered := func(name string, least, most int64) world.SysctlKind {
		_, acts := sysctlEffects[name]
		return world.SysctlKind{Name: name, Min: []int64{least}, Max: []int64{most}, Acts: acts || name == "vm.overcommit_memory"}
	}
	return []world.SysctlKind{
		{Name: "kernel.core_pattern"}, numbered("kernel.numa_balancing", 0, 2), numbered("kernel.perf_event_paranoid", -1, 4),
		numbered("kernel.pid_max", 301, 4<<20),
		numbered("kernel.randomize_va_space", 0, 2), numbered("kernel.sched_autogroup_enabled", 0, 1), numbered("kernel.threads-max", 1, math.MaxInt32),
		numbered("kernel.yama.ptrace_scope", 0, 3),
		numbered("vm.max_map_count", 0, math.MaxInt32), numbered("vm.mmap_min_addr", 0, math.MaxInt64), numbered("vm.nr_hugepages", 0, 0),
		numbered("vm.overcommit_memory", 0, 1), numbered("vm.overcommit_ratio", 0, math.MaxInt32), numbered("vm.swappiness", 0, 200),
		numbered("fs.aio-max-nr", 0, math.MaxInt64), numbered("fs.file-max", 0, math.MaxInt64), numbered("fs.inotify.max_user_instances", 0, math.MaxInt32),
		numbered("fs.inotify.max_user_watches", 0, math.MaxInt32), numbered("fs.nr_open", 8, math.MaxInt32), numbered("fs.pipe-max-size", 4096, 1<<31),
		numbered("net.core.rmem_default", leastRcvBuf, math.MaxInt32), numbered("net.core.rmem_max", leastRcvBuf, math.MaxInt32),
		numbered("net.core.wmem_default", leastSndBuf, math.MaxInt32), numbered("net.core.wmem_max", leastSndBuf, math.MaxInt32),
	}
}()

// readOnlySysctls lists the settings that Linux makes read-only.
var readOnlySysctls = []string{"net.ipv4.tcp_available_congestion_control"}

// writableSysctl returns the kind of a setting, and whether programs of a node may write it.
func writableSysctl(name string) (world.SysctlKind, bool) {
	if i := slices.IndexFunc(machineSysctls, func(kind world.SysctlKind) bool { return kind.Name == name }); i >= 0 {
		return machineSysctls[i], true
	}
	kind, ok := world.SysctlOf(name)
	return kind, ok && !slices.Contains(readOnlySysctls, name)
}

// Tune gives a node the settings of its kernel; the others are the default ones. The Tuning is for its network.
func Tune(n *Node, sysctls []world.Sysctl) (*net.Tuning, error) {
	s := settings{net: net.DefaultTuning(), ipc: DefaultIPC()}
	for _, c := range sysctls {
		kind, ok := writableSysctl(c.Name)
		if !ok {
			return nil, fmt.Errorf("node %s: there is no sysctl %q", n.Name, c.Name)
		}
		if _, err := kind.Read(c.Value); err != nil {
			return nil, fmt.Errorf("node %s: sysctl %s %v", n.Name, c.Name, err)
		}
		switch effect := sysctlEffects[c.Name]; {
		case effect != nil:
			effect(&s, c.Numbers())
		case c.Name == domainSysctl:
			n.DomainName = c.Value
		}
	}
	if s.net.FirstPort > s.net.LastPort {
		return nil, fmt.Errorf("node %s: sysctl net.ipv4.ip_local_port_range ends before it begins", n.Name)
	}
	if int(s.net.FirstPort) < s.net.Unprivileged {
		return nil, fmt.Errorf("node %s: sysctl net.ipv4.ip_unprivileged_port_start is above net.ipv4.ip_local_port_range", n.Name)
	}
	n.Sysctls, n.IPC, n.PIDMax = sysctls, &s.ipc, s.pidMax
	return &s.net, nil
}

// Names of a node are no settings that are kept apart: calls set them, too.
const (
	hostSysctl   = "kernel.hostname"
	domainSysctl = "kernel.domainname"
	maxNodeName  = 64 // bytes (__NEW_UTS_LEN)
)

// maxSysctl is how many bytes a program may write to a setting.
const maxSysctl = 1024

// writeSysctl takes what a program writes to a file below /proc/sys.
func writeSysctl(k *Kernel, t *Thread, path, text string) unix.Errno {
	name := world.SysctlName(strings.TrimPrefix(path, "/proc/sys/"))
	node := k.Node(t)
	kind, ok := writableSysctl(name)
	switch {
	case k.Proc(t).Cred.EUID != 0:
		return unix.EPERM
	case name == hostSysctl:
		node.Hostname = text[:min(len(text), maxNodeName)]
		return 0
	case name == domainSysctl:
		node.DomainName = text[:min(len(text), maxNodeName)]
		return 0
	case !ok:
		k.Refuse(t, "write to "+path, unix.EACCES)
		return unix.EACCES
	case len(text) > maxSysctl:
		return unix.EINVAL
	}
	before := strings.TrimSpace(synth(k, t, path).content())
	if words := strings.Fields(text); len(kind.Min) > 1 && len(words) > 0 && len(words) < len(kind.Min) { // the others stay
		text = strings.Join(append(words, strings.Fields(before)[len(words):]...), " ")
	}
	value, err := kind.Read(text)
	if err != nil {
		k.Refuse(t, "write of "+strconv.Quote(text)+" to "+path, unix.EINVAL)
		return unix.EINVAL
	}
	if value == before {
		return 0
	}
	own := slices.DeleteFunc(slices.Clone(node.Sysctls), func(s world.Sysctl) bool { return s.Name == name })
	own = append(own, world.Sysctl{Name: name, Value: value})
	slices.SortFunc(own, func(a, b world.Sysctl) int { return strings.Compare(a.Name, b.Name) })
	domain, was := node.DomainName, k.Net.Nodes[node.Net].Tuning
	tuning, err := Tune(node, own)
	node.DomainName = domain // a call may have set it since
	if err != nil {
		return unix.EINVAL
	}
	if *tuning != was {
		k.Net.Tune(node.Net, *tuning)
	}
	if !kind.Acts {
		k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.Ineffective, Event: k.Events + 1, TimeNs: k.Now, Node: t.Node,
			Program: k.Proc(t).Path, Text: []byte(path)})
	}
	return 0
}
