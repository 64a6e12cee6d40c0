package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/config"
	"github.com/bloodhound-dst/bloodhound/explore/search"
	"github.com/bloodhound-dst/bloodhound/report"
)

// strategyOf makes the strategy that a flag names, or else the configuration.
func (f *flags) strategyOf(p *project, seed uint64) (search.Strategy, error) {
	set := settingsOf(&p.search)
	set.MaxDepth = cmp.Or(int(f.maxDepth), set.MaxDepth)
	name := cmp.Or(f.strategy, p.search.Strategy)
	if f.maxDepth > 0 && name != search.Breadth && name != search.Depth {
		return nil, fmt.Errorf("--max-depth: %s has no depth; add --strategy %s or %s", name, search.Breadth, search.Depth)
	}
	if dir := cmp.Or(f.corpus, p.search.Corpus); dir != "" && (name == search.Guided || f.corpus != "") {
		if name != search.Guided {
			return nil, fmt.Errorf("--corpus: %s begins with no corpus; add --strategy %s", name, search.Guided)
		}
		var err error
		if set.Corpus, err = readCorpus(dir); err != nil {
			if f.corpus != "" {
				return nil, fmt.Errorf("--corpus: %w", err)
			}
			return nil, p.result.Mistake("exploration.corpus", err.Error(), "name a folder that has a corpus, such as one below .bloodhound/corpus")
		}
	}
	return search.New(name, p.spec, seed, set)
}

func settingsOf(x *config.Exploration) search.Settings {
	return search.Settings{MaxDepth: int(x.MaxDepth), MaxStates: uint64(x.MaxStates), Streams: x.Streams,
		Coverage: x.PrioritizeCoverage, Nearness: x.PrioritizeNearViolation}
}

// readCorpus reads the entries in a folder, in the order of their names.
func readCorpus(dir string) ([]search.Entry, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []search.Entry
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".json" || strings.HasPrefix(f.Name(), ".") {
			continue // one that was being written when a program was killed
		}
		path := filepath.Join(dir, f.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var e search.Entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("%s is no entry of a corpus: %w; remove it", path, err)
		}
		if e.Version != search.EntryVersion {
			return nil, fmt.Errorf("%s is of version %d, and this build reads %d; remove it", path, e.Version, search.EntryVersion)
		}
		list = append(list, e)
	}
	return list, nil
}

// corpusDir is where campaigns of the project's configuration keep their corpus.
func (p *project) corpusDir() string {
	name := strings.Join(p.sources, "+")
	return filepath.Join(p.state, "corpus", strings.NewReplacer(string(filepath.Separator), "_").Replace(strings.TrimSuffix(name, filepath.Ext(name))))
}

// keepCorpus stores the entries of a campaign, each in a file of its own that is there as a whole or not at all. What other
// campaigns have left stays.
func (a *app) keepCorpus(p *project, show *progress) func(came []*search.Entry, left []string) {
	dir, made, lost := p.corpusDir(), commit(p.spec.Dir), false
	ours := map[string]bool{}
	return func(came []*search.Entry, left []string) {
		for _, e := range came {
			path := filepath.Join(dir, e.Name+".json")
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
			e.Bloodhound, e.Commit, e.System = Version(), made, system()
			text, err := json.MarshalIndent(e, "", "  ")
			if err == nil {
				err = report.WriteFile(path, append(text, '\n'))
			}
			if err == nil {
				ours[e.Name] = true
			} else if !lost {
				lost = true
				show.note(fmt.Sprintf("bloodhound: the corpus could not be stored: %v", err))
			}
		}
		for _, name := range left {
			if ours[name] {
				delete(ours, name)
				os.Remove(filepath.Join(dir, name+".json"))
			}
		}
	}
}
