package engine

import "github.com/bloodhound-dst/bloodhound/internal/record"

// Modelled is a World that follows its run in models while it makes it.
type Modelled interface {
	// Models reports how far the models followed the run.
	Models() record.Models
}
