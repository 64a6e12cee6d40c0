package record

// Position is a point of a run. Equal tapes have the same happening at the same Position.
type Position struct {
	// Event is the number of events that have happened: 0 is the boot of the world, n the moment after event n.
	Event uint64 `json:"event"`
	// Within counts what the engine's smallest steps are, such as instructions, from there on and before the next event. An
	// engine that has no smaller steps than events knows 0 alone, and answers ErrUnsupported to an Advance to another one.
	Within uint64 `json:"within,omitempty"`
}

// PositionAt returns the position at which so many events have happened.
func PositionAt(event uint64) Position { return Position{Event: event} }
