package fault

// Unseen explains why no program may have observed a kind; empty where there is nothing to say.
func (e *Entry) Unseen() string {
	if !Known(e.Kind) {
		return ""
	}
	row := Of(e.Kind)
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

// Unseen explains why no program may have observed what a rule does; empty where there is nothing to say.
func (e *RuleEntry) Unseen() string {
	if Known(e.Kind) && Of(e.Kind).Place == OnPacket && e.Planned == 0 {
		return "; where several rules of a kind apply to a packet, the one with the highest rate counts"
	}
	return e.Entry.Unseen()
}
