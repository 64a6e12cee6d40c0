package fault

// Unseen explains why no program may have observed a kind; empty where there is nothing to say.
func (e *Entry) Unseen() string {
	if !Known(e.Kind) {
		return ""
	}
	row := RowOf(e.Kind)
	if why := e.Awaits(); why != "" {
		return "; " + why
	}
	switch {
	case row.Datagrams:
		return "; only datagrams (UDP) are affected by it, because TCP hides it from programs"
	case e.Delivered > 0:
		return row.Unseen
	case e.Planned > 0:
		return row.Undelivered
	}
	return ""
}

// Awaits explains why nothing was planned whose time had not come; empty where there is nothing to say.
func (e *Entry) Awaits() string {
	if e.Planned > 0 || e.Unreached == 0 {
		return ""
	}
	return "the chaos phase ended before the time or event that it waits for: write an earlier `after`, or have the chaos phase " +
		"last longer (the workload, faults.stop, max_time)"
}

// Unseen explains why no program may have observed what a rule does; empty where there is nothing to say.
func (e *RuleEntry) Unseen() string {
	if Known(e.Kind) && RowOf(e.Kind).Place == OnPacket && e.Planned == 0 && e.Awaits() == "" {
		return "; where several rules of a kind apply to a packet, the one with the highest rate counts"
	}
	return e.Entry.Unseen()
}
