package search

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// EntryVersion numbers the format of an Entry in a file.
const EntryVersion = 1

// Entry is a run that a search keeps, because it reached something for the first time or came closer than others.
type Entry struct {
	Version int    `json:"corpus_version"`
	Name    string `json:"name"` // NameOf its tape
	Origin  Origin `json:"origin"`
	Seed    uint64 `json:"campaign_seed"`
	Run     uint64 `json:"run"` // of the campaign of that seed
	// Project is the name of the world, World a digest of its configuration.
	Project string `json:"project,omitempty"`
	World   string `json:"world,omitempty"`
	// Bloodhound is the build that made the run, Commit that of the project, if it has one, System and Machine what it ran on.
	Bloodhound string              `json:"bloodhound,omitempty"`
	Commit     string              `json:"commit,omitempty"`
	System     string              `json:"system,omitempty"`
	Machine    string              `json:"machine,omitempty"`
	Why        string              `json:"why"` // it was kept
	Tape       tape.Tape           `json:"tape"`
	Injections []tape.Decision     `json:"injections,omitempty"`
	Near       []coverage.Nearness `json:"near,omitempty"`

	since   uint64 // how many runs the search had learned of
	reached []uint64
	chosen  int // how often it was a parent
	corpora int // how many it is in
}

// UnmarshalJSON also reads entries of earlier builds, which called injections strikes.
func (e *Entry) UnmarshalJSON(text []byte) error {
	type plain Entry
	return strictjson.Renamed(text, (*plain)(e), "strikes", &e.Injections)
}

// corpus holds the runs that one guide keeps, up to a number.
type corpus struct {
	guide  string
	most   int // entries; a new one takes the place of the one with the least power
	held   []held
	charge uint64 // the run at which energies were computed
}

// held is an entry in the corpus of a guide, which it is worth energy to.
type held struct {
	*Entry
	energy float64 // see guided.energy
}

func (h *held) power() float64 { return h.energy / float64(1+h.chosen) }

// NameOf names a tape by what is in it.
func NameOf(t tape.Tape) string {
	text, err := json.Marshal(t)
	if err != nil {
		panic("search: " + err.Error()) // numbers and words
	}
	h := fnv.New64a()
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}
