package fault

import (
	"slices"
)

// What the system calls of programs are that move bytes and make them durable.
var (
	writing = []string{"write", "pwrite64", "writev", "pwritev", "pwritev2"}
	moving  = []string{"sendfile", "splice", "copy_file_range"}
	reading = []string{"read", "pread64", "readv", "preadv", "preadv2"}
	syncing = []string{"fsync", "fdatasync", "syncfs", "msync"}
	mapping = []string{"mmap"} // at the first access to a page of a map
	opening = append(slices.Clone(Creating), CreateCall)
)

// downUnseen says what shows the end of programs that are killed.
const (
	downUnseen = "; it counts if the server reads its files when it starts again, if another server talks to the affected node, " +
		"or if it makes a driver's operation fail and the node runs again"
	late        = "an expected packet reached a waiting program late"
	restartSeen = "as for `crash`"
)

// Table has all kinds of faults, in the order in which ledgers, reports and configurations have them.
var Table = []Row{
	{Kind: Partition, Place: OnLink, Keys: Keys{"network", "partition_probability", "partition_duration_ms"}, Span: Span{1e9, 5e9}, Parts: true,
		Story:     "%s is cut off",
		StoryPast: "%s was cut off",
		Says:      "packets of a link, or of all links of a node, are lost, one way or both",
		Shows:     "an expected packet did not reach a waiting program",
		Inject:    block, End: undo(block)},
	{Kind: Clog, Place: OnLink, Keys: Keys{"network", "clog_probability", "clog_duration_ms"}, Span: Span{1e9, 5e9},
		Story:     "packets of %s wait",
		StoryPast: "packets of %s waited",
		Says:      "packets of a link, or of all links of a node, wait until the fault ends, one way or both",
		Shows:     late,
		Inject:    clog, End: undo(clog)},
	{Kind: SlowLink, Place: OnLink, Keys: Keys{"network", "slow_link_probability", "slow_link_duration_ms"}, Span: Span{1e9, 5e9},
		Story:     "the link of %s is slow",
		StoryPast: "the link of %s was slow",
		Says:      "packets of a link, or of all links of a node, take longer, and fewer get through",
		Shows:     late,
		Inject:    slow, End: undo(slow)},
	{Kind: Reset, Place: OnLink, Keys: Keys{"network", "reset_probability", ""}, Instant: true, OneEnd: true,
		Says:        "the connections of a link, or of all links of a node, end by RST: both ends see it, or one",
		Shows:       "a program saw the end: an errno, a hangup",
		Undelivered: "; there was never a connection to reset",
		Inject:      reset},
	{Kind: DNSFail, Place: OnNode, Keys: Keys{"network", "dns_fail_probability", "dns_fail_duration_ms"}, Span: Span{1e9, 5e9}, Silence: true,
		Says:   "name queries of a server get SERVFAIL, or no answer",
		Shows:  "a program read the answer, or waited for one that never came",
		Unseen: "; programs that cache names or use addresses never ask",
		Inject: func(e Effects, a *Action) bool { e.Names(a.Node, a.ID, a.Silent); return true },
		End:    func(e Effects, a *Action) { e.Names(a.Node, 0, false) }},
	{Kind: Delay, Place: OnPacket, Keys: Keys{"network", "delay_rate", ""}, Span: Span{25e6, 75e6},
		Says:  "a packet takes longer",
		Shows: "it reached a waiting program late",
		Rate:  DelayRate},
	{Kind: Drop, Place: OnPacket, Keys: Keys{"network", "drop_rate", ""},
		Says:  "a packet is lost; TCP sends it again",
		Shows: "it reached a waiting program late, or never",
		Rate:  DropRate},
	{Kind: Duplicate, Place: OnPacket, Keys: Keys{"network", "duplicate_rate", ""}, Datagrams: true,
		Says:  "a datagram arrives twice",
		Shows: "a program read it a second time",
		Rate:  DuplicateRate},
	{Kind: Reorder, Place: OnPacket, Keys: Keys{"network", "reorder_rate", "reorder_ms"}, Span: Span{1e6, 20e6}, Datagrams: true,
		Says:  "a datagram arrives after a later one",
		Shows: "a program read a later one before it",
		Rate:  ReorderRate},
	{Kind: Corrupt, Place: OnPacket, Keys: Keys{"network", "corrupt_rate", ""},
		Says:  "a packet has a wrong bit: TCP finds it and resends the segment; a datagram arrives with it",
		Shows: "a segment reached a waiting program late, or a program read the wrong bit",
		Rate:  CorruptRate},

	{Kind: Crash, Place: OnNode, Keys: Keys{"process", "crash_probability", "crash_duration_ms"}, Span: Span{500e6, 3e9}, Ends: Killed, Halts: true,
		Story:     "%s is killed, and down",
		StoryPast: "%s was killed and stayed down",
		Says:      "kill -9 of all processes of a node; they start again after a while",
		Shows: "others see resets, ends of files, and time that passed; a program that starts again reads what it had written; " +
			"it starts again after an operation of a driver failed by it",
		Unseen: downUnseen,
		Inject: takeDown, End: Effects.BringUp},
	{Kind: PowerLoss, Place: OnNode, Keys: Keys{"process", "power_loss_probability", "power_loss_duration_ms"},
		Span: Span{500e6, 3e9}, Ends: Unplugged, Halts: true,
		Story:     "%s loses power, and is down",
		StoryPast: "%s lost power and stayed down",
		Says:      "a crash that also discards memory, and all writes that the node's disk has not made durable",
		Shows:     "a program reads, looks up or stats something that is lost, or reads what is left; others wait for answers that never come",
		Unseen:    downUnseen,
		Inject:    takeDown, End: Effects.BringUp},
	{Kind: Restart, Place: OnNode, Keys: Keys{"process", "restart_probability", "restart_duration_ms"}, Span: Span{500e6, 3e9}, Ends: Stopped, Halts: true,
		Story:     "%s is stopped by SIGTERM, and is down",
		StoryPast: "%s was stopped by SIGTERM and stayed down",
		Says:      "a node is stopped in order and starts again after a while, as in a rolling update",
		Shows:     "its program handles the stop signal; else as for `crash`",
		Unseen: "; it counts if the server handles the stop signal or reads its files when it starts again, if another server " +
			"talks to the affected node, or if it makes a driver's operation fail and the node runs again",
		Inject: takeDown, End: Effects.BringUp},
	{Kind: Upgrade, Place: OnNode, Span: Span{500e6, 3e9}, Ends: Stopped, Halts: true,
		Story:       "%s is stopped and upgraded",
		StoryPast:   "%s was stopped and upgraded",
		Says:        "a node is stopped in order and starts again with the next of its `releases`",
		Shows:       restartSeen,
		Unseen:      downUnseen,
		Undelivered: "; a node is only upgraded while it has a later release",
		Inject:      func(e Effects, a *Action) bool { return e.ChangeRelease(a, 1) }, End: Effects.BringUp},
	{Kind: Downgrade, Place: OnNode, Span: Span{500e6, 3e9}, Ends: Stopped, Halts: true,
		Story:       "%s is stopped and downgraded",
		StoryPast:   "%s was stopped and downgraded",
		Says:        "a node is stopped in order and starts again with the release before its current one",
		Shows:       restartSeen,
		Unseen:      downUnseen,
		Undelivered: "; a node is only downgraded after an upgrade",
		Inject:      func(e Effects, a *Action) bool { return e.ChangeRelease(a, -1) }, End: Effects.BringUp},
	{Kind: Replace, Place: OnNode, Span: Span{500e6, 3e9}, Ends: Replaced, Halts: true,
		Story:     "%s is replaced by a machine with an empty disk, and is down",
		StoryPast: "%s was replaced by a machine with an empty disk",
		Says:      "a machine is lost, and a new one takes its name and address: its disk is as it was before the node first started",
		Shows:     "a program looks for a file that is gone; else as that of `power_loss`",
		Unseen:    downUnseen,
		Inject:    takeDown, End: Effects.BringUp},
	{Kind: Rollback, Place: OnNode, Span: Span{500e6, 3e9}, Ends: RolledBack,
		Amount:    &Amount{Least: 1e9, Most: 20e9},
		Story:     "a snapshot of the disk of %s is taken, and restored",
		StoryPast: "the disk of %s was restored from a snapshot taken before",
		Says: "a snapshot of a node's disk is taken; after a while the machine is lost, and a new one takes its place with the disk " +
			"of the snapshot",
		Shows:       "a program reads what the snapshot has, or looks for a file that is gone; else as that of `power_loss`",
		Unseen:      downUnseen,
		Undelivered: "; the node did not run when its snapshot was to be restored, or the chaos phase ended before",
		Inject:      func(e Effects, a *Action) bool { e.TakeSnapshot(a); return false }, // Effects counts it when the snapshot is restored
		End:         Effects.EndRollback},
	{Kind: Run, Place: OnNode, Span: Span{30e9, 30e9},
		Story:       "an operator runs a command on %s",
		StoryPast:   "an operator ran a command on %s",
		Says:        "a command runs on a node, as an operator would run it there; it is killed if it takes longer than the duration",
		Shows:       "the command ends with exit code 0",
		Unseen:      "; the command never ended with exit code 0",
		Undelivered: "; the node did not run, or the command could not be started",
		Inject:      Effects.RunCommand, End: Effects.EndCommand},
	{Kind: Pause, Place: OnNode, Keys: Keys{"process", "pause_probability", "pause_duration_ms"}, Span: Span{100e6, 2e9}, Halts: true,
		Story:     "%s stands still",
		StoryPast: "%s stood still",
		Says:      "the threads of a node do not run for a while",
		Shows:     "it continues late",
		Inject:    func(e Effects, a *Action) bool { e.Halt(a); return true },
		End:       Effects.GoOn},
	{Kind: MemoryPressure, Place: OnNode, Keys: Keys{"process", "memory_pressure_probability", "memory_pressure_duration_ms"}, Span: Span{100e6, 2e9},
		Says:   "the programs of a node get no more memory for a while",
		Shows:  "a call gets ENOMEM",
		Inject: func(e Effects, a *Action) bool { e.Pressure(a.Node, a.ID, a.StartNs); return true },
		End:    func(e Effects, a *Action) { e.Pressure(a.Node, 0, 0) }},
	{Kind: OOM, Place: OnNode, Keys: Keys{"process", "oom_probability", "oom_duration_ms"}, Span: Span{1e9, 5e9}, Ends: OutOfMemory,
		Says:   "the memory of a node runs out, and its kernel kills the largest process",
		Shows:  "a program reads how little memory there is, or learns of the end of that process; others see resets, ends of files, and time that passed",
		Inject: func(e Effects, a *Action) bool { e.Leak(a); return true },
		End:    Effects.EndLeak},
	{Kind: FDLimit, Place: OnNode, Keys: Keys{"process", "fd_limit_probability", "fd_limit_duration_ms"}, Span: Span{100e6, 2e9},
		Says:   "the processes of a node are at their limit of open files for a while: they get no new descriptor",
		Shows:  "a call gets EMFILE, or a message arrives without its descriptors",
		Inject: func(e Effects, a *Action) bool { e.FDLimit(a.Node, a.ID, a.StartNs); return true },
		End:    func(e Effects, a *Action) { e.FDLimit(a.Node, 0, 0) }},

	{Kind: WriteFail, Place: OnCall, Keys: Keys{"disk", "write_fail_rate", ""},
		Says:  "a write to a disk fails with EIO",
		Shows: "the program gets EIO",
		Call:  &CallRow{Names: slices.Concat(writing, moving), Meets: writes}},
	{Kind: ReadFail, Place: OnCall, Keys: Keys{"disk", "read_fail_rate", ""},
		Says:  "a read from a disk fails with EIO",
		Shows: "the program gets EIO",
		Call:  &CallRow{Names: slices.Concat(reading, moving, mapping), Meets: reads}},
	{Kind: OpenFail, Place: OnCall, Keys: Keys{"disk", "open_fail_rate", ""},
		Says:  "opening or creating a file or a folder on a disk fails with EIO",
		Shows: "the program gets EIO",
		Call:  &CallRow{Names: opening, Meets: func(c *Call) bool { return c.Op == Open }}},
	{Kind: PartialWrite, Place: OnCall, Keys: Keys{"disk", "partial_write_rate", ""},
		Says:  "a write to a disk accepts from one to all but one of its bytes",
		Shows: "the program gets that number",
		Call: &CallRow{Names: slices.Concat(writing, moving), Meets: func(c *Call) bool { return writes(c) && c.Bytes > 1 },
			Ways: func(*Call) uint64 { return CallSteps },
			Harm: func(h *Harm, c *Call, way uint64) { h.Bytes = 1 + (c.Bytes-2)*int(CallSteps-1-way)/(CallSteps-1) }}},
	{Kind: FsyncFail, Place: OnCall, Keys: Keys{"disk", "fsync_fail_rate", ""},
		Says:  "an fsync fails with EIO once, and a power loss then discards the data that it should have written",
		Shows: "the program gets EIO",
		// Writes to files that were opened with O_SYNC synchronise, too.
		Call: &CallRow{Names: slices.Concat(syncing, writing), Meets: func(c *Call) bool { return c.Op == Sync }}},
	{Kind: TornWrite, Place: OnCall, Keys: Keys{"disk", "torn_write_rate", "torn_write_duration_ms"}, Span: Span{500e6, 3e9}, Ends: Unplugged, Halts: true,
		Says:   "power is lost during a write, and the disk has only some of its sectors",
		Shows:  "as for `power_loss`",
		Inject: takeDown, End: Effects.BringUp,
		Call: &CallRow{Names: slices.Concat(writing, moving), Meets: func(c *Call) bool { return writes(c) && c.cuts() > 0 },
			Ways: func(c *Call) uint64 { return uint64(c.cuts()) * DurationSteps },
			Harm: func(h *Harm, c *Call, way uint64) { // from the last end of a sector on back
				last := (c.Offset + int64(c.Bytes) - 1) / sectorBytes * sectorBytes
				h.Bytes = int(last - int64(way/DurationSteps)*sectorBytes - c.Offset)
			}}},
	{Kind: ReadCorrupt, Place: OnCall, Keys: Keys{"disk", "read_corrupt_rate", ""},
		Says:  "a bit on the disk is flipped, and stays so until it is written again",
		Shows: "a program reads it",
		Call: &CallRow{Names: slices.Concat(reading, moving, mapping), Meets: reads,
			Ways: func(c *Call) uint64 { return uint64(c.Bytes) * 8 },
			Harm: func(h *Harm, _ *Call, way uint64) { h.Bit = int(way) }}},
	{Kind: DiskFull, Place: OnDisk, Keys: Keys{"disk", "full_probability", "full_duration_ms"}, Span: Span{500e6, 5e9},
		Story:     "the disk of %s is full",
		StoryPast: "the disk of %s was full",
		Says:      "a disk has no room for a while",
		Shows:     "ENOSPC, a shorter write, or statfs with nothing free",
		Inject:    func(e Effects, a *Action) bool { e.FillDisk(a.Node, a.ID); return true },
		End:       func(e Effects, a *Action) { e.FillDisk(a.Node, 0) }},
	{Kind: SlowDisk, Place: OnDisk, Keys: Keys{"disk", "slow_probability", "slow_duration_ms"}, Span: Span{500e6, 5e9},
		Amount:    &Amount{Least: 5e6, Most: 100e6, Key: "slow_ms"},
		Story:     "the disk of %s is slow",
		StoryPast: "the disk of %s was slow",
		Says:      "each read, write and fsync of a file on the disk takes longer for a while",
		Shows:     "a program has waited for it",
		Inject:    func(e Effects, a *Action) bool { e.SlowDisk(a.Node, a.ID, a.Amount); return true },
		End:       func(e Effects, a *Action) { e.SlowDisk(a.Node, 0, 0) }},

	{Kind: ClockSkew, Place: OnClock, Keys: Keys{"clock", "skew_probability", "skew_duration_ms"}, Span: Span{1e9, 10e9},
		Amount:    &Amount{Least: 100e6, Most: 5e9, Signed: true, Key: "skew_ms"},
		Story:     "the clock of %s is wrong",
		StoryPast: "the clock of %s was wrong",
		Says:      "the date of a node (CLOCK_REALTIME) is ahead or behind for a while",
		Shows:     "a program reads the date, or its wait for a date ends at another time",
		Inject:    setClock, End: Effects.RightClock},
	{Kind: ClockJump, Place: OnClock, Keys: Keys{"clock", "jump_probability", ""}, UntilEnd: true,
		Amount:    &Amount{Least: 1e9, Most: 60e9, Signed: true, Key: "jump_ms"},
		Story:     "the clock of %s jumps",
		StoryPast: "the clock of %s jumped",
		Says:      "the date of a node jumps ahead or back and stays so until the heal; jumps add up",
		Shows:     "as for `clock_skew`",
		Inject:    setClock, End: Effects.RightClock},
	{Kind: ClockDrift, Place: OnClock, Keys: Keys{"clock", "drift_probability", "drift_duration_ms"}, Span: Span{1e9, 10e9},
		Amount: &Amount{Least: 1e6, Most: 100e6, Signed: true, PPM: true, Key: "drift_ppm"},
		Says:   "all clocks of a node run faster or slower for a while",
		Shows:  "a program reads a clock",
		Inject: setClock, End: Effects.RightClock},
}

func writes(c *Call) bool { return c.Op == Write }
func reads(c *Call) bool  { return c.Op == Read }

func takeDown(e Effects, a *Action) bool { e.TakeDown(a); return true }
func setClock(e Effects, a *Action) bool { e.Clock(a); return true }

// block, clog and slow bring the directions that a fault lies on up to date, as it begins and as it ends.
func block(e Effects, a *Action) bool {
	for _, c := range a.Directions {
		e.Block(c, e.Lies(a.Kind, c.From, c.To).ID)
	}
	return true
}

func clog(e Effects, a *Action) bool {
	for _, c := range a.Directions {
		e.Clog(c, e.Lies(a.Kind, c.From, c.To).ID)
	}
	return true
}

func slow(e Effects, a *Action) bool {
	for _, c := range a.Directions {
		on := e.Lies(a.Kind, c.From, c.To)
		e.Slow(c, &on)
	}
	return true
}

func undo(update func(Effects, *Action) bool) func(Effects, *Action) {
	return func(e Effects, a *Action) { update(e, a) }
}

// reset ends connections: where there is none, nothing was delivered.
func reset(e Effects, a *Action) bool {
	n := 0
	for _, c := range a.Directions {
		n += e.Reset(c, a)
	}
	return n > 0
}
