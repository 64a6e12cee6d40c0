package net

import "cmp"

// Tuning holds the settings of a node's kernel below /proc/sys/net (ip-sysctl.rst, tcp(7)).
type Tuning struct {
	Backlog   int    // net.core.somaxconn
	FirstPort uint16 // net.ipv4.ip_local_port_range
	LastPort  uint16
	// Unprivileged is the first port that users other than root may bind (net.ipv4.ip_unprivileged_port_start).
	Unprivileged int

	KeepIdleS, KeepIntervalS, KeepCount                   int // net.ipv4.tcp_keepalive_time, _intvl, _probes
	SynRetries, SynAckRetries, DataRetries, OrphanRetries int // net.ipv4.tcp_syn_retries, tcp_synack_retries, tcp_retries2, tcp_orphan_retries
	FinTimeoutS                                           int // net.ipv4.tcp_fin_timeout

	// What TCP's buffers begin with and grow to: net.ipv4.tcp_rmem, tcp_wmem.
	RcvBuf, RcvBufMax, SndBuf, SndBufMax int64

	V6Only     bool // net.ipv6.bindv6only
	NoIPv6     bool // net.ipv6.conf.all.disable_ipv6
	DgramQueue int  // net.unix.max_dgram_qlen
}

// DefaultTuning is a node's without settings of its own.
func DefaultTuning() Tuning {
	return Tuning{Backlog: somaxconn, FirstPort: ephemeralFirst, LastPort: ephemeralLast,
		KeepIdleS: keepIdleS, KeepIntervalS: keepIntervalS, KeepCount: keepCount,
		SynRetries: synRetries, SynAckRetries: synAckRetries, DataRetries: dataRetries, OrphanRetries: orphanRetries, FinTimeoutS: finTimeoutS,
		RcvBuf: rcvBufTCP, RcvBufMax: rcvBufTCPMax, SndBuf: sndBufTCP, SndBufMax: sndBufTCPMax, DgramQueue: maxDgramQueue}
}

// Tune changes the settings of a machine that is up. One that gives up IPv6 has no IPv6 addresses but its loopback's any more, whatever
// comes after.
func (s *State) Tune(id NodeID, t Tuning) {
	n := s.Nodes[id]
	n.Tuning = t
	for i := range n.NICs {
		n.NICs[i].Has6 = n.NICs[i].Has6 && !t.NoIPv6
	}
}

// tuned is the Tuning of a socket's node.
func (sk *sock) tuned(s *State) *Tuning { return &s.Nodes[sk.Node].Tuning }

func (o *options) keepIdle(t *Tuning) int64 { return int64(cmp.Or(o.KeepIdleS, t.KeepIdleS)) * second }

func (o *options) keepInterval(t *Tuning) int64 {
	return int64(cmp.Or(o.KeepIntervalS, t.KeepIntervalS)) * second
}

// finTimeoutNs is how long a socket that was closed waits for its peer's FIN.
func (t *Tuning) finTimeoutNs() int64 { return int64(t.FinTimeoutS) * second }
