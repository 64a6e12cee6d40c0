package world

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Sysctl is a setting of a node's kernel (sysctl(8)): its name, with dots, and its value as its file below /proc/sys shows it.
type Sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Path is the setting's file. In a name with dots, a slash stands for a dot of the file's own name.
func (s Sysctl) Path() string { return "/proc/sys/" + swapDots(s.Name) }

// Numbers are the numbers of a value that SysctlKind.Read has given.
func (s Sysctl) Numbers() []int64 {
	var numbers []int64
	for _, word := range strings.Fields(s.Value) {
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			v = math.MaxInt64 // of shmmax and shmall, which have 64 bits without a sign
		}
		numbers = append(numbers, v)
	}
	return numbers
}

func swapDots(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, name)
}

// SysctlKind says what a setting may be.
type SysctlKind struct {
	Name string
	// Each of its numbers is from one of Min to that of Max; without any it is text.
	Min, Max []int64
	// Acts says that an engine gives it an effect; others only show.
	Acts bool
}

func numbered(name string, bounds ...int64) SysctlKind {
	k := SysctlKind{Name: name, Acts: true}
	for ; len(bounds) > 0; bounds = bounds[2:] {
		k.Min, k.Max = append(k.Min, bounds[0]), append(k.Max, bounds[1])
	}
	return k
}

const (
	mostInt = math.MaxInt32
	// mostSeconds is the longest time that Linux counts in ticks of a millisecond.
	mostSeconds = mostInt / 1000
	// mostIPC is IPCMNI: how many objects of one kind System V can name.
	mostIPC = 32768
	// mostMessage bounds one message of System V.
	mostMessage = 64 << 20
	// mostSemaphores is how many of a set semop(2) can number.
	mostSemaphores = 1 << 16
)

// actingSysctls are those with an effect.
var actingSysctls = []SysctlKind{
	numbered("kernel.msgmax", 0, mostMessage),
	numbered("kernel.msgmnb", 0, mostInt),
	numbered("kernel.msgmni", 0, mostIPC),
	numbered("kernel.sem", 0, mostSemaphores, 0, mostInt, 0, mostSemaphores, 0, mostIPC),
	numbered("kernel.shmall", 0, math.MaxInt64),
	numbered("kernel.shmmax", 0, math.MaxInt64),
	numbered("kernel.shmmni", 0, mostIPC),
	{Name: "kernel.domainname", Acts: true},
	numbered("net.core.somaxconn", 0, mostInt),
	numbered("net.ipv4.ip_local_port_range", 1, 65535, 1, 65535),
	numbered("net.ipv4.ip_unprivileged_port_start", 0, 65535),
	numbered("net.ipv4.tcp_fin_timeout", 1, mostSeconds),
	numbered("net.ipv4.tcp_keepalive_intvl", 1, mostSeconds),
	numbered("net.ipv4.tcp_keepalive_probes", 1, 255),
	numbered("net.ipv4.tcp_keepalive_time", 1, mostSeconds),
	numbered("net.ipv4.tcp_orphan_retries", 0, 255),
	numbered("net.ipv4.tcp_retries2", 0, 255),
	numbered("net.ipv4.tcp_rmem", 1, mostInt, 1, mostInt, 1, mostInt),
	numbered("net.ipv4.tcp_syn_retries", 1, 127),
	numbered("net.ipv4.tcp_synack_retries", 0, 255),
	numbered("net.ipv4.tcp_wmem", 1, mostInt, 1, mostInt, 1, mostInt),
	numbered("net.ipv6.bindv6only", 0, 1),
	numbered("net.ipv6.conf.all.disable_ipv6", 0, 1),
	numbered("net.unix.max_dgram_qlen", 0, mostInt),
}

// shownSysctls are the other settings that Linux keeps for each network namespace or IPC namespace, by folder.
var shownSysctls = []struct{ folder, names string }{
	{"kernel.", "shm_rmid_forced"},
	{"fs.mqueue.", "msg_default msg_max msgsize_default msgsize_max queues_max"},
	{"net.core.", "optmem_max rps_default_mask tstamp_allow_data txrehash xfrm_acq_expires xfrm_aevent_etime xfrm_aevent_rseqth xfrm_larval_drop"},
	{"net.ipv4.", `fib_multipath_hash_fields fib_multipath_hash_policy fib_multipath_hash_seed fib_multipath_use_neigh fib_notify_on_flag_change fib_sync_mem
		fwmark_reflect icmp_echo_enable_probe icmp_echo_ignore_all icmp_echo_ignore_broadcasts icmp_errors_use_inbound_ifaddr
		icmp_ignore_bogus_error_responses icmp_msgs_burst icmp_msgs_per_sec icmp_ratelimit icmp_ratemask igmp_link_local_mcast_reports
		igmp_max_memberships igmp_max_msf igmp_qrv ip_autobind_reuse ip_default_ttl ip_dynaddr ip_early_demux ip_forward
		ip_forward_update_priority ip_forward_use_pmtu ip_local_reserved_ports ip_no_pmtu_disc ip_nonlocal_bind
		ipfrag_high_thresh ipfrag_low_thresh ipfrag_max_dist ipfrag_time nexthop_compat_mode ping_group_range raw_l3mdev_accept
		tcp_abort_on_overflow tcp_adv_win_scale tcp_allowed_congestion_control tcp_app_win tcp_autocorking tcp_backlog_ack_defer
		tcp_base_mss tcp_challenge_ack_limit tcp_child_ehash_entries tcp_comp_sack_delay_ns tcp_comp_sack_nr tcp_comp_sack_slack_ns
		tcp_congestion_control tcp_dsack tcp_early_demux tcp_early_retrans tcp_ecn tcp_ecn_fallback tcp_ecn_option tcp_ecn_option_beacon
		tcp_fack tcp_fastopen tcp_fastopen_blackhole_timeout_sec tcp_fastopen_key tcp_frto tcp_fwmark_accept tcp_invalid_ratelimit
		tcp_l3mdev_accept tcp_limit_output_bytes tcp_max_reordering tcp_max_syn_backlog tcp_max_tw_buckets tcp_migrate_req
		tcp_min_rtt_wlen tcp_min_snd_mss tcp_min_tso_segs tcp_moderate_rcvbuf tcp_mtu_probe_floor tcp_mtu_probing tcp_no_metrics_save
		tcp_no_ssthresh_metrics_save tcp_notsent_lowat tcp_pacing_ca_ratio tcp_pacing_ss_ratio tcp_pingpong_thresh tcp_plb_cong_thresh
		tcp_plb_enabled tcp_plb_idle_rehash_rounds tcp_plb_rehash_rounds tcp_plb_suspend_rto_sec tcp_probe_interval tcp_probe_threshold
		tcp_recovery tcp_reflect_tos tcp_reordering tcp_retrans_collapse tcp_retries1 tcp_rfc1337 tcp_rto_max_ms tcp_rto_min_us
		tcp_sack tcp_shrink_window tcp_slow_start_after_idle tcp_stdurg tcp_syn_linear_timeouts tcp_syncookies tcp_thin_linear_timeouts
		tcp_timestamps tcp_tso_rtt_log tcp_tso_win_divisor tcp_tw_reuse tcp_tw_reuse_delay tcp_window_scaling
		tcp_workaround_signed_windows udp_child_hash_entries udp_early_demux udp_l3mdev_accept udp_rmem_min udp_wmem_min xfrm4_gc_thresh`},
	{"net.ipv6.", `anycast_src_echo_reply auto_flowlabels fib_multipath_hash_fields fib_multipath_hash_policy fib_notify_on_flag_change
		flowlabel_consistency flowlabel_reflect flowlabel_state_ranges fwmark_reflect idgen_delay idgen_retries ioam6_id ioam6_id_wide
		ip6frag_high_thresh ip6frag_low_thresh ip6frag_time ip_nonlocal_bind max_dst_opts_length max_dst_opts_number max_hbh_length
		max_hbh_opts_number mld_max_msf mld_qrv seg6_flowlabel xfrm6_gc_thresh`},
}

// shownFolders are those whose names depend on interfaces and modules.
var shownFolders = []string{"net.ipv4.conf.", "net.ipv4.neigh.", "net.ipv4.route.", "net.ipv4.vs.", "net.ipv6.conf.",
	"net.ipv6.neigh.", "net.ipv6.route.", "net.ipv6.icmp.",
	"net.bridge.", "net.mpls.", "net.mptcp.", "net.netfilter.", "net.sctp.", "net.unix.", "net.vrf.", "net.smc.", "net.nf_conntrack_max"}

// textSysctls are the ends of names of settings that are no numbers.
var textSysctls = []string{"_congestion_control", "tcp_fastopen_key", "ip_local_reserved_ports", "ratemask", "stable_secret",
	"rps_default_mask", ".scheduler", ".path_manager", "core_pattern", "cookie_hmac_alg", "nf_log.0"}

// SysctlName gives a setting's name with dots. Like runc, it takes one with slashes too, where a dot is one of a file's own name.
func SysctlName(written string) string {
	if i := strings.IndexAny(written, "./"); i >= 0 && written[i] == '/' {
		return swapDots(written)
	}
	return written
}

// SysctlNames are the names that do not depend on interfaces and modules.
func SysctlNames() []string {
	var names []string
	for _, k := range actingSysctls {
		names = append(names, k.Name)
	}
	for _, f := range shownSysctls {
		for name := range strings.FieldsSeq(f.names) {
			names = append(names, f.folder+name)
		}
	}
	slices.Sort(names)
	return names
}

// SysctlOf finds what a setting may be, by its name with dots. ok is false for what is none of a container's own.
func SysctlOf(name string) (k SysctlKind, ok bool) {
	for _, k := range actingSysctls {
		if k.Name == name {
			return k, true
		}
	}
	folder := func(f string) bool {
		return strings.HasPrefix(name, f) && (len(name) > len(f) || !strings.HasSuffix(f, "."))
	}
	if slices.Contains(SysctlNames(), name) || slices.ContainsFunc(shownFolders, folder) && wellFormed(name) {
		return SysctlKind{Name: name}, true
	}
	return SysctlKind{}, false
}

// wellFormed reports whether a name can be that of a file below /proc/sys.
func wellFormed(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return !strings.Contains(name, "//")
}

// Read reads a value as it is written, and gives it as Linux shows it.
func (k SysctlKind) Read(written string) (string, error) {
	words := strings.Fields(written)
	free := func(end string) bool { return strings.HasSuffix(k.Name, end) }
	switch {
	case len(words) == 0:
		return "", errors.New("has no value")
	case len(k.Min) == 0 && (k.Acts || slices.ContainsFunc(textSysctls, free)):
		return strings.Join(words, " "), nil
	case len(k.Min) > 1 && len(words) != len(k.Min):
		return "", fmt.Errorf("is %d numbers, not %q", len(k.Min), written)
	case len(k.Min) == 1 && len(words) != 1:
		return "", fmt.Errorf("is one number, not %q", written)
	}
	for i, word := range words {
		n, err := strconv.ParseInt(word, 0, 64)
		large, wide := strconv.ParseUint(word, 0, 64)
		if errors.Is(wide, strconv.ErrRange) {
			return "", fmt.Errorf("is out of range: %s", word)
		}
		if err != nil && wide != nil || strings.Contains(word, "_") {
			return "", fmt.Errorf("is a number, not %q", word)
		}
		if err != nil {
			n = math.MaxInt64
		}
		if len(k.Min) > 0 && (n < k.Min[i] || n > k.Max[i]) {
			return "", fmt.Errorf("is from %d to %d, not %s", k.Min[i], k.Max[i], word)
		}
		if words[i] = strconv.FormatInt(n, 10); err != nil {
			words[i] = strconv.FormatUint(large, 10)
		}
	}
	return strings.Join(words, "\t"), nil
}
