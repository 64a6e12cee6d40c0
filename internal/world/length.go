package world

import "strings"

// Streams of a run's length. No seed draws from them: 0, the whole length, is the value of each unless an edit of the tape sets it.
const (
	// ChaosStream is how long faults last at most: k is k time steps.
	ChaosStream = "length/chaos"
	// CalmStream is by how many time steps faults begin later than the Spec says.
	CalmStream = "length/calm"
	// OperationsPrefix, before the name of a client, is how many operations that client does at most: k is k-1.
	OperationsPrefix = "length/operations/"
)

// OfLength reports whether the draws of a stream decide how long a run is.
func OfLength(stream string) bool {
	return stream == ChaosStream || stream == CalmStream || strings.HasPrefix(stream, OperationsPrefix)
}

// LengthValues bounds the values of these streams.
const LengthValues = 1 << 31

// Length shortens a run, as its tape says: faults end earlier, begin later, or operations are left out.
type Length struct {
	ChaosNs int64  `json:"chaos_ns,omitempty"` // how long faults last at most; 0 is no bound
	CalmNs  int64  `json:"calm_ns,omitempty"`  // how much later faults begin
	Skip    []Skip `json:"skip,omitempty"`     // what clients leave out
}

// Full reports whether nothing is taken away.
func (l *Length) Full() bool { return l.ChaosNs == 0 && l.CalmNs == 0 && len(l.Skip) == 0 }
