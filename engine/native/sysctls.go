//go:build linux && amd64

package native

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/world"
)

// settings are what a node's sysctls change.
type settings struct {
	net net.Tuning
	ipc kernel.IPCLimits
}

// Linux' least sizes of buffers, below which settings have no effect (socket(7)).
const (
	leastSndBuf = 4608
	leastRcvBuf = 2304
)

// defaultOrphanRetries is what tcp_orphan_retries stands for when it is 0 (tcp(7)).
const defaultOrphanRetries = 8

// sysctlEffects are the settings that are numbers and have an effect.
var sysctlEffects = map[string]func(s *settings, v []int64){
	"kernel.msgmax": func(s *settings, v []int64) { s.ipc.MsgBytes = v[0] },
	"kernel.msgmnb": func(s *settings, v []int64) { s.ipc.MsgQueueBytes = v[0] },
	"kernel.msgmni": func(s *settings, v []int64) { s.ipc.MsgQueues = int(v[0]) },
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

// tune gives a node the settings of its kernel. The Tuning is for its network.
func tune(node *kernel.Node, sysctls []world.Sysctl) (*net.Tuning, error) {
	if len(sysctls) == 0 {
		return nil, nil
	}
	s := settings{net.DefaultTuning(), kernel.DefaultIPC()}
	for _, c := range sysctls {
		kind, ok := world.SysctlOf(c.Name)
		if !ok {
			return nil, fmt.Errorf("node %s: there is no sysctl %q", node.Name, c.Name)
		}
		if _, err := kind.Read(c.Value); err != nil {
			return nil, fmt.Errorf("node %s: sysctl %s %v", node.Name, c.Name, err)
		}
		switch effect := sysctlEffects[c.Name]; {
		case effect != nil:
			effect(&s, c.Numbers())
		case c.Name == "kernel.domainname":
			node.DomainName = c.Value
		}
	}
	if s.net.FirstPort > s.net.LastPort {
		return nil, fmt.Errorf("node %s: sysctl net.ipv4.ip_local_port_range ends before it begins", node.Name)
	}
	node.Sysctls, node.IPC = sysctls, &s.ipc
	return &s.net, nil
}
