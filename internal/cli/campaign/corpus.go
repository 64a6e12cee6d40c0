package campaign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

// strategyOf makes the strategy that a flag names, or else the configuration.
func strategyOf(a *console.App, f *campaignFlags, p *project.Project, seed uint64) (search.Strategy, error) {
	set := project.SettingsOf(&p.Search)
	set.MaxDepth = cmp.Or(int(f.maxDepth), set.MaxDepth)
	name := cmp.Or(f.strategy, p.Search.Strategy)
	systematic := search.KindOf(name).Uses(search.KeyMaxDepth)
	if f.maxDepth > 0 && f.strategy == "" && !systematic {
		name, systematic = search.Breadth, true
		a.Note("note: --max-depth needs a systematic search, so the strategy is %s, not %s", name, p.Search.Strategy)
	}
	if f.maxDepth > 0 && !systematic {
		return nil, fmt.Errorf("--max-depth does not apply to the strategy %s; add --strategy %s", name, strings.Join(search.Using(search.KeyMaxDepth), " or "))
	}
	if dir := cmp.Or(f.corpus, p.Search.Corpus); dir != "" && (begins(name) || f.corpus != "") {
		if !begins(name) {
			return nil, fmt.Errorf("--corpus does not apply to the strategy %s; add --strategy %s", name, strings.Join(search.Using(search.KeyCorpus), " or "))
		}
		list, err := readCorpus(dir)
		if err == nil {
			set.Corpus, err = ownEntries(a, p, dir, list)
		}
		if err != nil {
			if f.corpus != "" {
				return nil, fmt.Errorf("--corpus: %w", err)
			}
			return nil, p.Result.Mistake("exploration.corpus", err.Error(), "give a folder that contains a "+
				"corpus, such as one below .bloodhound/corpus")
		}
	}
	set.OneBoot = !f.FromBoot
	set.FullLength = set.FullLength || f.fullLength
	set.Runs = cmp.Or(f.seeds, p.Seeds)
	s, err := search.New(name, p.Spec, seed, set)
	if err != nil && f.strategy == "" {
		return nil, p.Result.Mistake("exploration.strategy", err.Error(), "`bloodhound docs guides` lists guides and words")
	}
	return s, err
}

// begins reports whether a strategy begins with a corpus.
func begins(name string) bool {
	p, err := search.Parse(name)
	return err == nil && search.KindOf(p.Strategy).Uses(search.KeyCorpus)
}

// readCorpus reads the entries in a folder, in the order of their names. A folder without any is an error.
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
		text, err := regular.Read(path, project.MaxEntryBytes)
		if err != nil {
			return nil, fmt.Errorf("%w; remove it from the corpus", err)
		}
		var e search.Entry
		if version := strictjson.Version(text, "corpus_version"); version > search.EntryVersion {
			return nil, fmt.Errorf("%s has version %d, and this bloodhound reads version %d: use the later bloodhound that wrote it, or remove the file",
				path, version, search.EntryVersion)
		}
		if err := strictjson.Decode(text, &e); err != nil {
			return nil, fmt.Errorf("%s is not a corpus entry: %w; remove it", path, err)
		}
		if e.Version != search.EntryVersion {
			return nil, fmt.Errorf("%s has version %d, and this bloodhound reads %d; remove it", path, e.Version, search.EntryVersion)
		}
		list = append(list, e)
	}
	if len(list) > 0 {
		return list, nil
	}
	remedy := "a campaign with --strategy coverage-guided creates one below .bloodhound/corpus"
	for _, below := range []string{"*", filepath.Join("*", "*")} {
		if files, _ := filepath.Glob(filepath.Join(dir, below, "*.json")); len(files) > 0 && filepath.Base(filepath.Dir(files[0])) != "failures" {
			remedy = "did you mean " + filepath.Dir(files[0]) + "?"
		}
	}
	return nil, fmt.Errorf("%s is not a corpus; %s", dir, remedy)
}

// ownEntries are the entries of a corpus without those of other projects. It reports these, and of those that are of another
// configuration or commit of this project: their tapes may make other runs now.
func ownEntries(a *console.App, p *project.Project, dir string, list []search.Entry) ([]search.Entry, error) {
	world, now := project.WorldDigest(p.Spec), project.HeadCommit(p.Spec.Dir)
	var own []search.Entry
	var strange, configured, committed, nameless []string
	for _, e := range list {
		if e.Project != "" && e.Project != p.Spec.Name {
			strange = append(strange, e.Name+" of "+strconv.Quote(e.Project))
			continue
		}
		own = append(own, e)
		switch {
		case e.Project == "":
			nameless = append(nameless, e.Name)
		case e.World != world:
			configured = append(configured, e.Name)
		case e.Commit != now:
			committed = append(committed, e.Name)
		}
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("%s in %s %s from projects other than %s (%s); give a corpus of this project",
			plural.Count(len(list), "entry"), dir, plural.Verb(len(list), "is", "are"), strconv.Quote(p.Spec.Name),
			report.Some(strange, project.MaxEntriesNamed))
	}
	for _, group := range []struct {
		names []string
		one   string
		many  string
		says  string
	}{
		{strange, "is", "are", "from other projects and left out"},
		{configured, "is", "are", "from another configuration: their runs may differ now"},
		{committed, "is", "are", "from another commit: their runs may differ now"},
		{nameless, "does", "do", "not name their project"},
	} {
		if len(group.names) > 0 {
			a.Note("note: corpus %s: %d of %s %s %s (%s)", dir, len(group.names), plural.Count(len(list), "entry"),
				plural.Verb(len(group.names), group.one, group.many), group.says, report.Some(group.names, project.MaxEntriesNamed))
		}
	}
	return own, nil
}

// checkCorpus fails before the campaign runs if its corpus could not be stored.
func checkCorpus(p *project.Project) error {
	dir := p.CorpusDir()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return console.Failed(fmt.Errorf("cannot store the corpus: %w", report.DiskError(err, filepath.Dir(dir))))
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return console.Failed(fmt.Errorf("cannot store the corpus: %w", report.DiskError(err, dir)))
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// keepCorpus stores the entries of a campaign, each in a file of its own that is there as a whole or not at all. What other
// campaigns have left stays.
func keepCorpus(a *console.App, p *project.Project, show *console.Progress) func(came []*search.Entry, left []string) {
	dir, digest, made, lost := p.CorpusDir(), project.WorldDigest(p.Spec), project.HeadCommit(p.Spec.Dir), false
	ours := map[string]bool{}
	return func(came []*search.Entry, left []string) {
		for _, e := range came {
			path := filepath.Join(dir, e.Name+".json")
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				continue
			}
			e.Project, e.World = p.Spec.Name, digest
			e.Bloodhound, e.Commit, e.System = program.Version(), made, program.System()
			text, err := json.MarshalIndent(e, "", "  ")
			if err == nil {
				err = report.WriteFile(path, append(text, '\n'))
			}
			if err == nil {
				ours[e.Name] = true
			} else if !lost {
				lost = true
				show.Note(fmt.Sprintf("bloodhound: could not store the corpus: %v", err))
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
