package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Versions of the formats that a failure file depends on.
const (
	FailureVersion = 1
	// TraceVersion changes when equal runs get another trace hash than before; traceRules tells why.
	TraceVersion = 5
)

// traceRules has, for each TraceVersion after the first, the rule of runs that it changed.
var traceRules = map[int]string{
	2: "fault rules draw at calls, packets and roles, and a run has a warmup",
	3: "programs do not see files that Bloodhound writes into the project's folder",
	4: "the engine answers instructions such as rdrand, rdpid and xsave",
	5: "drivers, probes and checks have a root without files of this machine",
}

// traceChange explains why the trace hashes of a file cannot be compared with those of this program; "" if they can.
func traceChange(then, now int) string {
	if then == now {
		return ""
	}
	text := fmt.Sprintf("the trace version was %d and is %d, so hashes cannot be compared", then, now)
	if then > now {
		return text + ": a later bloodhound wrote the file"
	}
	var rules []string
	for v := then + 1; v <= now; v++ {
		rules = append(rules, traceRules[v])
	}
	return text + "; since then: " + strings.Join(rules, "; ")
}

// maxFailureBytes bounds the file of a failure that is read.
const maxFailureBytes = 1 << 30

// Failure is a violation in a file: all that is needed to make the run again, and to explain why it came out
// differently if it does.
type Failure struct {
	Version      int    `json:"failure_version"`
	TraceVersion int    `json:"trace_version"`
	Bloodhound   string `json:"bloodhound"` // version of the program
	failure.Failure
	// Test is the stable name of the test whose failure this is. Files of earlier versions lack it.
	Test string `json:"test,omitempty"`
	// FormerID is the id that an earlier version has given the failure: it names the file, and people may still use it.
	FormerID string `json:"former_id,omitempty"`
	// Config is the configuration file that the Spec was read from.
	Config  string        `json:"config,omitempty"`
	Verdict check.Verdict `json:"verdict"`
	// Tape makes the run. Decisions are its draws that were not the default, which is what shrinking starts from.
	Tape      tape.Tape       `json:"tape"`
	Decisions []tape.Decision `json:"decisions,omitempty"`
	// Origin is where a campaign had the tape from.
	Origin    *search.Origin `json:"origin,omitempty"`
	Hash      string         `json:"hash"` // trace hash
	Events    uint64         `json:"events"`
	VirtualNs int64          `json:"virtual_ns"`
	// Files is the Files of a check.Judged: digests of the files that the run opened, and names in the folders that it
	// listed.
	Files   map[string]string `json:"files,omitempty"`
	Machine string            `json:"machine,omitempty"`
	// Driver is the SHA-256 digest of the driver program of the run (see record.Outcome).
	Driver string `json:"driver,omitempty"`
	// Tree records the content of the project's folder when the failure was stored.
	Tree *filetree.Tree `json:"tree,omitempty"`
	// System is the operating system, and Commit the one of the project's folder, if it has one.
	System string      `json:"system,omitempty"`
	Commit string      `json:"commit,omitempty"`
	Spec   *world.Spec `json:"spec"`
	// Smallest is the run that is left after shrinking.
	Smallest *Smallest `json:"smallest,omitempty"`
	// Background describes the other runs of the campaign that found the failure.
	Background *explore.Background `json:"background,omitempty"`
	// Discovery says when the failure was found, and how often.
	Discovery *Discovery `json:"found,omitempty"`
	// Explanation is of the run that it names by its hash.
	Explanation *Explanation `json:"explanation,omitempty"`

	// unknown is a field of the file that this program does not know.
	unknown string
}

// Discovery is when a failure was found first, and how many of the runs of that campaign showed it.
type Discovery struct {
	At   time.Time `json:"at"`
	Runs uint64    `json:"runs,omitempty"`
	Of   uint64    `json:"of,omitempty"` // 0 if no campaign found it
}

// Smallest is a smaller run of a failure.
type Smallest struct {
	Tape      tape.Tape         `json:"tape"`
	Cut       world.Cut         `json:"cut"` // what the run leaves out of the failure's Spec
	Verdict   check.Verdict     `json:"verdict"`
	Hash      string            `json:"hash"`
	Events    uint64            `json:"events"`
	VirtualNs int64             `json:"virtual_ns"`
	Files     map[string]string `json:"files,omitempty"`
	Machine   string            `json:"machine,omitempty"`
	Driver    string            `json:"driver,omitempty"`
	// Tree records the content of the project's folder, if it differs from the Tree of the Failure.
	Tree   *filetree.Tree `json:"tree,omitempty"`
	Shrunk shrink.Shrunk  `json:"shrunk"`
}

// Shrink takes in a smaller run of the failure. What an earlier search began with stays its beginning.
func (f *Failure) Shrink(r *shrink.Result) {
	s := r.Shrunk
	if f.Smallest != nil {
		s.From = f.Smallest.Shrunk.From
		s.Runs += f.Smallest.Shrunk.Runs
	}
	o := r.Outcome
	f.Smallest = &Smallest{Tape: r.Tape, Cut: r.Cut, Verdict: r.Verdict, Hash: o.Hash, Events: o.Events, VirtualNs: o.VirtualNs,
		Files: o.Files, Machine: o.Machine, Driver: o.Driver, Shrunk: s}
	f.Headline = failure.Headline(r.Verdict.Reason)
}

// Small is the failure as its smallest run alone shows it, or f itself if it was not shrunk.
func (f *Failure) Small() *Failure {
	s := f.Smallest
	if s == nil {
		return f
	}
	small := *f
	small.Tape, small.Decisions, small.Verdict, small.Spec = s.Tape, nil, s.Verdict, s.Cut.Apply(f.Spec)
	small.Hash, small.Events, small.VirtualNs, small.Files, small.Machine = s.Hash, s.Events, s.VirtualNs, s.Files, s.Machine
	small.Tree, small.Driver = cmp.Or(s.Tree, f.Tree), cmp.Or(s.Driver, f.Driver)
	return &small
}

// NewFailure makes the file's content of a violation, which a run of a test has shown.
func NewFailure(test, version, config string, spec *world.Spec, o *check.Judged, v check.Verdict) *Failure {
	return &Failure{Version: FailureVersion, TraceVersion: TraceVersion, Bloodhound: version, Failure: explore.Identify(test, spec, o.Tape, &v),
		Test: test, Config: config, Verdict: v, Tape: o.Tape, Decisions: o.Decisions, Hash: o.Hash, Events: o.Events, VirtualNs: o.VirtualNs,
		Files: o.Files, Machine: o.Machine, Driver: o.Driver, Spec: spec}
}

// FailurePath is where the run of a failure is kept in a state folder, by the Name of its files.
func FailurePath(state, name string) string { return filepath.Join(state, "failures", name+".json") }

// Name names the files of the failure's run. An earlier version named them by its own id of the failure.
func (f *Failure) Name() string { return cmp.Or(f.FormerID, f.Failure.Name()) }

// Path is where the failure lies in a state folder.
func (f *Failure) Path(state string) string { return FailurePath(state, f.Name()) }

// Save writes a failure into a state folder and returns its path.
func Save(state string, f *Failure) (string, error) {
	path := f.Path(state)
	return path, Write(path, f)
}

// identify completes a failure that an earlier version has written: by the words that it had for a signature, its cause is known. The name of its test
// may have been longer than what the file tells: see Belongs.
func (f *Failure) identify() {
	if f.Verdict.Cause == nil && f.Property == "" {
		f.FormerID, f.Property = f.ID, f.Verdict.Property
		f.Signature = failure.Former(f.Property, f.Verdict.Reason, f.Signature)
		test := f.Spec.Name
		if name := filepath.Base(f.Config); f.Config != "" && name != "bloodhound.yaml" {
			test += "/" + name
		}
		f.ID = failure.IDOf(test, f.Signature)
		here, err := f.Spec.Moved(".")
		if err != nil {
			panic(err) // a Spec is plain data
		}
		f.RunID, f.Headline = failure.RunOf(here, f.Tape), failure.Headline(f.Small().Verdict.Reason)
	}
}

// Belongs says of which test a failure is, where its file does not.
func (f *Failure) Belongs(test string) {
	if f.Test == "" {
		f.Test, f.ID = test, failure.IDOf(test, f.Signature)
	}
}

// Write writes a failure into a file.
func Write(path string, f *Failure) error {
	b, err := f.Content()
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// Content returns the content of the failure's file.
func (f *Failure) Content() ([]byte, error) {
	b, err := json.MarshalIndent(f, "", "  ")
	return append(b, '\n'), err
}

// IsFailurePath distinguishes the path of a failure file from an id.
func IsFailurePath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || filepath.Ext(name) == ".json"
}

// Load reads a failure by its id, an unambiguous beginning of one, or the path of its file.
func Load(state, name string) (*Failure, error) {
	path := name
	if !IsFailurePath(name) {
		var err error
		if path, err = find(state, name); err != nil {
			return nil, err
		}
	}
	f, err := read(path)
	if errors.As(err, new(*fs.PathError)) {
		return nil, fmt.Errorf("%w; give the id of a failure, or the path of its file, which is %s", err,
			filepath.Join(cmp.Or(state, ".bloodhound"), "failures", "ID-RUN.json"))
	}
	return f, err
}

// read reads the file of a failure.
func read(path string) (*Failure, error) {
	b, err := regular.Read(path, maxFailureBytes)
	if err != nil {
		return nil, err
	}
	return Parse(path, b)
}

// Parse reads a failure from the content of a file of a name.
func Parse(path string, b []byte) (*Failure, error) {
	f := new(Failure)
	if version := strictjson.Version(b, "failure_version"); version > FailureVersion { // whose fields may be of other types
		f.Version = version
		var writer struct {
			Bloodhound string `json:"bloodhound"`
		}
		if json.Unmarshal(b, &writer) == nil {
			f.Bloodhound = writer.Bloodhound
		}
	} else if err := strictjson.Decode(b, f); err != nil {
		return nil, fmt.Errorf("%s: not a failure file: %w", path, err)
	}
	f.unknown = strictjson.Unknown(b, new(Failure))
	switch {
	case f.Version == 0:
		return nil, fmt.Errorf("%s: not a failure file: it has no failure_version", path)
	case f.Version != FailureVersion && f.Bloodhound == "":
		return nil, fmt.Errorf("%s: failure_version is %d, and this program reads %d; replay it with the bloodhound that wrote it "+
			"(the file does not name its version), or find the failure again",
			path, f.Version, FailureVersion)
	case f.Version != FailureVersion:
		return nil, fmt.Errorf("%s: failure_version is %d, and this program reads %d; replay it with the bloodhound that wrote "+
			"it, version %s, or find the failure again",
			path, f.Version, FailureVersion, f.Bloodhound)
	case f.Spec == nil || f.ID == "":
		return nil, fmt.Errorf("%s: not a failure file: it has no spec or no id", path)
	}
	f.identify()
	return f, nil
}

// find is the file in a state folder of the failure, or of the run of one, that a name means.
func find(state, name string) (string, error) {
	dir := filepath.Join(state, "failures")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var all []string
	for _, e := range entries {
		if base, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(base, ".") {
			all = append(all, base)
		}
	}
	match := slices.DeleteFunc(slices.Clone(all), func(base string) bool { return !isNamed(base, name) })
	of := func(base string) string { id, _, _ := strings.Cut(base, "-"); return id }
	if len(match) == 0 { // earlier versions have named files by ids of their own
		ids := map[string]string{}
		for _, base := range all {
			f, err := read(filepath.Join(dir, base+".json"))
			if err == nil && (failure.Matches(name, f.ID) || failure.Matches(name, f.FormerID) || failure.Matches(name, f.RunID) ||
				isNamed(f.Failure.Name(), name)) {
				match, ids[base] = append(match, base), f.ID
			}
		}
		of = func(base string) string { return ids[base] }
	}
	switch {
	case len(match) == 0:
		return "", &UnknownFailure{name, dir, all}
	case slices.ContainsFunc(match, func(base string) bool { return of(base) != of(match[0]) }):
		return "", fmt.Errorf("%q matches %s: %s; give more "+
			"characters", name, plural.Count(len(match), "failure"), strings.Join(match, ", "))
	}
	return filepath.Join(dir, latestOf(dir, match)+".json"), nil
}

// isNamed reports whether a name means the failure whose file has a name without its ending: by the beginning of its id, or of its run's, or of both.
func isNamed(base, name string) bool {
	id, run, _ := strings.Cut(base, "-")
	return name != "" && (strings.HasPrefix(base, name) || failure.Matches(name, id) || run != "" && failure.Matches(name, run))
}

// latestOf is the file that was written last: of several runs of one failure, people most often mean the one that they have just seen.
func latestOf(dir string, names []string) string {
	written := func(name string) int64 {
		info, err := os.Stat(filepath.Join(dir, name+".json"))
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	return slices.MaxFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(written(a), written(b)), cmp.Compare(a, b)) })
}

// UnknownFailure is a name of no failure that is stored in a folder. Others are those that are.
type UnknownFailure struct {
	Name, Dir string
	Others    []string
}

func (e *UnknownFailure) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("no failure %q: %s has none; give the path of a failure file, or find failures with "+
			"`bloodhound explore`", e.Name, e.Dir)
	}
	return fmt.Sprintf("no failure %q in %s; there are %s", e.Name, e.Dir, strings.Join(e.Others, ", "))
}

// Relocate takes the failure's files for those of a project that lies in another folder now.
func (f *Failure) Relocate(dir string) {
	f.Files = relocated(f.Files, f.Spec.Dir, dir)
	if f.Smallest != nil {
		f.Smallest.Files = relocated(f.Smallest.Files, f.Spec.Dir, dir)
	}
}

func relocated(from map[string]string, oldDir, dir string) map[string]string {
	old := strings.TrimRight(oldDir, "/") + "/"
	files := map[string]string{}
	for path, digest := range from {
		if rest, ok := strings.CutPrefix(path, old); ok {
			path = filepath.Join(dir, rest)
			if rest == "" || strings.HasSuffix(rest, "/") {
				path += "/"
			}
		}
		files[path] = digest
	}
	return files
}

// Changes names what is different now from when the failure was found: the formats, the files that the run opened and
// the folders that it listed, the machine; last, files that only one of the two runs opened, which may be why the runs
// differ or follow from that. An empty list means that the same run is due.
func (f *Failure) Changes(o *check.Judged) []string {
	var list []string
	if change := traceChange(f.TraceVersion, TraceVersion); change != "" {
		list = append(list, change)
	}
	if f.unknown != "" {
		list = append(list, fmt.Sprintf("the file has the field %q, which this bloodhound does not know and leaves out: a later one wrote it (%s)",
			f.unknown, f.Bloodhound))
	}
	changed, perhaps := filedigest.Changes(f.Files, o.Files)
	// A list may be cut short, and files of the project tell most.
	slices.SortStableFunc(changed, func(a, b string) int {
		rank := func(change string) int {
			if strings.HasPrefix(change, strings.TrimSuffix(f.Spec.Dir, "/")+"/") {
				return 0
			}
			return 1
		}
		return cmp.Compare(rank(a), rank(b))
	})
	list = append(list, changed...)
	if f.Machine != o.Machine {
		list = append(list, fmt.Sprintf("the machine was %q and is %q", f.Machine, o.Machine))
	}
	return append(list, perhaps...)
}

// OtherDriver reports whether a run had another driver program than the failure. Files of earlier versions do not name theirs.
func (f *Failure) OtherDriver(o *check.Judged) bool {
	return f.Driver != "" && o.Driver != "" && f.Driver != o.Driver
}
