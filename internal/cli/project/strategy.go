package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	configkeys "github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// SettingsOf returns what a configuration sets of a search.
func SettingsOf(x *config.Exploration) search.Settings {
	return search.Settings{MaxDepth: int(x.MaxDepth), MaxStates: uint64(x.MaxStates), Streams: x.Streams, FeedbackDelay: uint64(x.FeedbackDelay),
		FullLength: x.Length == configkeys.FullLength, Coverage: x.PrioritizeCoverage, Nearness: x.PrioritizeNearViolation}
}

const (
	MaxEntryBytes   = 64 << 20 // of the file of an entry
	MaxEntriesNamed = 5        // in a line
)

// WorldDigest distinguishes configurations, wherever their project lies.
func WorldDigest(spec *world.Spec) string {
	here, err := fault.Underived(spec).Moved("/project")
	if err == nil { // a comment above a rule makes no other world
		here.Unplace()
	}
	text, bad := json.Marshal(here)
	if err = errors.Join(err, bad); err != nil {
		panic("a Spec that is not JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// CorpusDir is where campaigns of the project's configuration keep their corpus.
func (p *Project) CorpusDir() string {
	name := strings.Join(p.Sources, "+")
	return filepath.Join(p.State, "corpus", strings.NewReplacer(string(filepath.Separator), "_").Replace(strings.TrimSuffix(name, filepath.Ext(name))))
}
