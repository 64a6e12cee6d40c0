package load

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Place names a part of the Spec, or a key at the top of the configuration.
type Place struct {
	Node string
	Part engine.Part
	Name string
}

// Location is where a part was written.
type Location struct {
	source.Position
	Key string
}

// Remember keeps where a part of the Spec was written, if it was.
func (l *State) Remember(p Place, n *source.Node, key string) {
	if n == nil {
		return
	}
	for n.Kind == source.List && len(n.Items) > 0 { // of a command, its first word
		n = n.Items[0]
	}
	l.Places[p] = Location{n.Position, key}
}
