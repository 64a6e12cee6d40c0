package fault

// Kinds lists every kind that this package can plan, in the order in which ledgers and reports name them.
var Kinds = []Kind{Partition, Clog, SlowLink, Delay, Drop, Corrupt, Duplicate, Reorder, Reset, DNSFail,
	Crash, PowerLoss, Restart, Pause,
	WriteFail, ReadFail, PartialWrite, FsyncFail, TornWrite, ReadCorrupt, DiskFull, SlowDisk,
	MemoryPressure, OOM,
	ClockSkew, ClockJump, ClockDrift}

// Supported tells whether a kind of fault can be planned. A configuration may name others; with a rate above 0
// they make a verdict unknown instead of being left out silently.
func Supported(k Kind) bool { return rank(k) < len(Kinds) }

// PerPacket tells whether a kind is drawn by the engine's network for each packet; the others are drawn by a Plan
// once a time step.
func PerPacket(k Kind) bool {
	switch k {
	case Delay, Drop, Corrupt, Duplicate, Reorder:
		return true
	}
	return false
}

// OnlyDatagrams tells the kinds that TCP hides from programs: it puts segments in order, and drops what it has.
func OnlyDatagrams(k Kind) bool { return k == Duplicate || k == Reorder }

// Unseen explains why no program may have observed a kind; empty where there is nothing to say.
func (e *Entry) Unseen() string {
	switch {
	case OnlyDatagrams(e.Kind):
		return "; only datagrams (UDP) can be struck by it, for TCP hides it from programs"
	case e.Kind == Reset && e.Delivered == 0 && e.Planned > 0:
		return "; there was never a connection to reset"
	case e.Kind == DNSFail && e.Delivered > 0:
		return "; programs that remember names, or write addresses, never ask"
	case (e.Kind == Crash || e.Kind == PowerLoss) && e.Delivered > 0:
		return "; it counts where a server that starts again reads its files, where another server talks to the struck node, or where it makes an operation of a driver fail and the node runs again"
	case e.Kind == Restart && e.Delivered > 0:
		return "; it counts where a server handles the stop signal, or reads its files as it starts again, where another server talks to the struck node, or where it makes an operation of a driver fail and the node runs again"
	}
	return ""
}

// Unseen explains why no program may have observed what a rule does; empty where there is nothing to say.
func (e *RuleEntry) Unseen() string {
	if PerPacket(e.Kind) && e.Planned == 0 {
		return "; where several rules of a kind apply to a packet, the one with the highest rate counts"
	}
	return e.Entry.Unseen()
}

// PerCall tells whether a kind is drawn for each call on a node's disk (see Plan.Call).
func PerCall(k Kind) bool {
	switch k {
	case WriteFail, ReadFail, PartialWrite, FsyncFail, TornWrite, ReadCorrupt:
		return true
	}
	return false
}

// Steady tells whether a kind has no strikes with an end, because it is drawn for each packet or call: it is there
// throughout the chaos phase.
func Steady(k Kind) bool { return PerPacket(k) || PerCall(k) }

// OnNode tells whether a kind strikes nodes and not links. Such kinds never strike clients.
func OnNode(k Kind) bool { return stops(k) || PerCall(k) || k == DNSFail || onMachine(k) }

// stops tells whether a node's programs do not run while a kind strikes it: one such strike at a time is all it takes.
func stops(k Kind) bool {
	return k == Crash || k == PowerLoss || k == Restart || k == TornWrite || k == Pause
}

// OnLinks tells whether a kind strikes links, or all links of a node, once in a time step. The others are per packet, or
// strike nodes.
func OnLinks(k Kind) bool { return k == Partition || k == Clog || k == SlowLink || k == Reset }

// Instant tells whether a strike of a kind is over at once: nothing has to be undone.
func Instant(k Kind) bool { return k == Reset }

// Lasts tells whether a rule may say how long strikes of a kind, or the delays that it brings, last.
func Lasts(k Kind) bool {
	switch k {
	case Drop, Duplicate, Corrupt, Reset, ClockJump:
		return false
	}
	return !PerCall(k) || k == TornWrite
}

// rank is the place of k in Kinds, and len(Kinds) for unknown kinds.
func rank(k Kind) int {
	for i, known := range Kinds {
		if k == known {
			return i
		}
	}
	return len(Kinds)
}
