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
		return "; it affects only datagrams (UDP), because TCP hides it from programs"
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
	return "the chaos phase ended before the time or event it waits for: write an earlier `after`, or make the chaos phase " +
		"longer (the workload, faults.stop, max_time)"
}

// Unseen explains why no program may have observed what a rule does; empty where there is nothing to say.
func (e *RuleEntry) Unseen() string {
	if Known(e.Kind) && RowOf(e.Kind).Place == OnPacket && e.Planned == 0 && e.Awaits() == "" {
		return "; if several rules of a kind apply to a packet, only the one with the highest rate counts"
	}
	return e.Entry.Unseen()
}
