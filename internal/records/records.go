// Package records has what workers write into a database and what is read out of it: tests, codes, environments, workers, spans of effort,
// discoveries, the corpus, failures with what replays said of them, notes, and requests for work. It is pure: entries come in and go out, and a
// View is plain data that does not depend on the order in which entries come, or on how often.
package records

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// ID names a test, a code, an environment, a worker or a request by 16 hexadecimal digits, and a failure by 12.
type ID string

// idOf computes an ID from the parts of what it names.
func idOf(kind string, parts ...string) ID {
	h := sha256.New()
	fmt.Fprintf(h, "bloodhound %s", kind)
	for _, p := range parts {
		fmt.Fprintf(h, "\x00%s", p)
	}
	return ID(hex.EncodeToString(h.Sum(nil)[:8]))
}

// TestID returns the id of a test, by its stable name: a changed configuration is another definition of the same test.
func TestID(name string) ID { return ID(failure.TestID(name)) }

// FailureID returns the id of a failure of a test.
func FailureID(test ID, signature string) ID { return ID(failure.IDIn(string(test), signature)) }

// Property is one of a test.
type Property struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Test is a definition of a test: one configuration of a project.
type Test struct {
	Name         string     `json:"name"`
	Definition   string     `json:"definition"` // digest of the configuration, whatever folder it lies in
	Config       string     `json:"config,omitempty"`
	Strategy     string     `json:"strategy,omitempty"`
	Properties   []Property `json:"properties,omitempty"`
	RulesVersion int        `json:"rules_version,omitempty"` // of its runs: see world.Spec
	Canary       bool       `json:"canary,omitempty"`        // it must fail: if it does not, workers do not find what they should
	AtMs         int64      `json:"at_ms"`                   // when it was recorded first; milliseconds since 1970
}

// Code is a state of the programs under test.
type Code struct {
	Commit   string   `json:"commit,omitempty"`
	Dirty    string   `json:"dirty,omitempty"` // digest of changes that are not committed
	Branch   string   `json:"branch,omitempty"`
	Line     string   `json:"line,omitempty"` // main, pr or release
	Subject  string   `json:"subject,omitempty"`
	Images   []string `json:"images,omitempty"`   // digests
	Programs []string `json:"programs,omitempty"` // digests, without a commit
	CommitMs int64    `json:"commit_ms,omitempty"`
	AtMs     int64    `json:"at_ms"`
}

// ID names the code by what it is and not by when it was recorded.
func (c *Code) ID() ID {
	return idOf("code", c.Commit, c.Dirty, strings.Join(c.Images, " "), strings.Join(c.Programs, " "))
}

// Commit is one of a repository, with those that it follows.
type Commit struct {
	ID      string   `json:"id"`
	Parents []string `json:"parents,omitempty"`
}

// Env identifies the engine, build and machine of a run.
type Env struct {
	Engine       string   `json:"engine"`
	Bloodhound   string   `json:"bloodhound"`
	TraceVersion int      `json:"trace_version"`
	System       string   `json:"system,omitempty"`
	Machine      string   `json:"machine,omitempty"`  // processor
	Features     []string `json:"features,omitempty"` // of kernel and processor
}

// ID names the environment.
func (e *Env) ID() ID {
	return idOf("env", e.Engine, e.Bloodhound, fmt.Sprint(e.TraceVersion), e.System, e.Machine, strings.Join(e.Features, " "))
}

// Worker is a process that makes runs.
type Worker struct {
	Host       string            `json:"host"`
	PID        int               `json:"pid"`
	Bloodhound string            `json:"bloodhound"`
	Labels     map[string]string `json:"labels,omitempty"` // pod, job, ...
	CPUs       int               `json:"cpus,omitempty"`
	StartedMs  int64             `json:"started_ms"`
	SeenMs     int64             `json:"seen_ms,omitempty"` // a sign of life of a worker that is paused, and records nothing else
	// EndedMs and Reason are set in what a worker records when it ends.
	EndedMs int64  `json:"ended_ms,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Found are features that a worker's runs reached before others that it knew of.
type Found struct {
	Worker ID     `json:"worker"`
	Seq    uint64 `json:"seq"` // of the worker, for the code and environment
	AtMs   int64  `json:"at_ms"`
	Run    uint64 `json:"run"`
	// Features are IDs, 16 hexadecimal digits each, without anything between them.
	Features string `json:"features"`
}

// Kept is an entry of the corpus: a run that reached something that its worker did not know, or came closer to something.
type Kept struct {
	Worker ID     `json:"worker"`
	Code   ID     `json:"code"`
	Env    ID     `json:"env"`
	AtMs   int64  `json:"at_ms"`
	Name   string `json:"name"`
	// Search is the search.Entry, with tape and provenance: strategy, parents, mutation, why it was kept.
	Search json.RawMessage `json:"entry"`
	// Features lists the features that its run reached and that the worker did not know, in the form of Found.
	Features string `json:"features,omitempty"`
}

// Distilled says which entries of a corpus reach all that the others reach, too.
type Distilled struct {
	Worker ID    `json:"worker"`
	Code   ID    `json:"code"` // on which they were run
	Env    ID    `json:"env"`
	AtMs   int64 `json:"at_ms"`
	// Of are the names of the entries that were compared, in order, and Kept those of them that suffice.
	Of       []string `json:"of"`
	Kept     []string `json:"kept"`
	Features int      `json:"features"` // that they reach
}

// Compared reports whether an entry was looked at; none was by nil.
func (d *Distilled) Compared(name string) bool {
	if d == nil {
		return false
	}
	_, is := slices.BinarySearch(d.Of, name)
	return is
}

// Dropped reports whether others reach all that an entry does.
func (d *Distilled) Dropped(name string) bool {
	if !d.Compared(name) {
		return false
	}
	_, kept := slices.BinarySearch(d.Kept, name)
	return !kept
}

// Levels of a failure's tape.
const (
	Raw    = "raw"
	Shrunk = "shrunk"
)

// Failure is a violation, as found or shrunk.
type Failure struct {
	failure.Failure        // without an ID in records of versions whose signatures were words
	Reason          string `json:"reason"`
	Level           string `json:"level"` // Raw or Shrunk
	// Decisions is how many choices of its tape are not the default; the smaller, the better to read.
	Decisions int    `json:"decisions"`
	Tape      string `json:"tape"` // its name
	Run       uint64 `json:"run,omitempty"`
	Origin    string `json:"origin,omitempty"`    // strategy and mutation
	Faultless bool   `json:"faultless,omitempty"` // the run without faults shows it
	// File is the blob with the failure's file, which replays it.
	File   store.Digest `json:"file"`
	Worker ID           `json:"worker"`
	Code   ID           `json:"code"`
	Env    ID           `json:"env"`
	AtMs   int64        `json:"at_ms"`
	// Imported is the file that it came from, if no worker found it.
	Imported string `json:"imported,omitempty"`
}

// Results of a replay.
const (
	Reproduced = "reproduced" // the same violation
	Clean      = "clean"      // the run was the recorded one, or repeats, and nothing is violated
	Diverged   = "diverged"   // the tape makes another run: nothing follows from it
	Varies     = "varies"     // runs of the tape differ
)

// Replay is the result of replaying a failure's tape on a code in an environment.
type Replay struct {
	Code   ID     `json:"code"`
	Env    ID     `json:"env"`
	Worker ID     `json:"worker"`
	Result string `json:"result"`
	Hash   string `json:"hash,omitempty"`
	Reason string `json:"reason,omitempty"`
	AtMs   int64  `json:"at_ms"`
}

// States of a note.
const (
	Open         = "open"
	Acknowledged = "acknowledged"
	Ignored      = "ignored"
)

// Note is a person's remark on a failure. The latest one with a State decides the failure's state.
type Note struct {
	By    string `json:"by"`
	Text  string `json:"text,omitempty"`
	State string `json:"state,omitempty"`
	URL   string `json:"url,omitempty"` // of an issue, say
	AtMs  int64  `json:"at_ms"`
}

// Kinds of requests.
const (
	ReplayRequest  = "replay"
	ShrinkRequest  = "shrink"
	BisectRequest  = "bisect"
	ExplainRequest = "explain"
)

// RequestKinds are all that workers know.
var RequestKinds = []string{ReplayRequest, ShrinkRequest, ExplainRequest, BisectRequest}

// Request asks a worker for work on a failure.
type Request struct {
	Kind    string `json:"kind"`
	Test    ID     `json:"test"`
	Failure ID     `json:"failure"`
	By      string `json:"by"`
	AtMs    int64  `json:"at_ms"`
	// Good is, for a BisectRequest, a revision without the failure, and Bad one with it; empty is the worker's commit.
	Good string `json:"good,omitempty"`
	Bad  string `json:"bad,omitempty"`
}

// ID names a request.
func (r *Request) ID() ID {
	return idOf("request", r.Kind, string(r.Test), string(r.Failure), r.By, fmt.Sprint(r.AtMs), r.Good, r.Bad)
}

// revision matches the names that a request may use for a commit: names, digits, and how far before them. None is an
// option of git.
var revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./~^@{}+-]{0,199}$`)

// Check reports what keeps workers from doing what a request asks for.
func (r *Request) Check() error {
	switch {
	case !slices.Contains(RequestKinds, r.Kind):
		return fmt.Errorf("workers do not know the request %q", r.Kind)
	case r.Kind != BisectRequest && r.Good+r.Bad != "":
		return fmt.Errorf("a request to %s does not take revisions", r.Kind)
	case r.Kind == BisectRequest && r.Good == "":
		return errors.New("give a revision without the failure, such as a commit or a tag")
	}
	for _, rev := range []string{r.Good, r.Bad} {
		if rev != "" && !revision.MatchString(rev) {
			return fmt.Errorf("%q is not a revision", rev)
		}
	}
	return nil
}

// What a commit did to a failure.
const (
	Introduced = "introduced"
	FixedBy    = "fixed"
)

// NotBuilt is the result of a commit that cannot be run, beside those of a Replay.
const NotBuilt = "not built"

// Bisected names the commit that introduced a failure, or fixed it.
type Bisected struct {
	What    string     `json:"what"`    // Introduced or FixedBy
	Commits []Named    `json:"commits"` // one of which did it; most often one
	Tried   []AtCommit `json:"tried"`
	Good    string     `json:"good"` // the commits between which it lies
	Bad     string     `json:"bad"`
	Worker  ID         `json:"worker"`
	Env     ID         `json:"env"`
	AtMs    int64      `json:"at_ms"`
}

// Named is a commit.
type Named struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// AtCommit is the result of a failure's run at a commit.
type AtCommit struct {
	Named
	Result string `json:"result"` // as of a Replay, or NotBuilt
	Reason string `json:"reason"`
}

// String says what was found.
func (b *Bisected) String() string {
	if len(b.Commits) == 1 {
		return fmt.Sprintf("%s by %.12s %s", b.What, b.Commits[0].ID, b.Commits[0].Subject)
	}
	return fmt.Sprintf("%s by one of %d commits; the ones between them gave no answer", b.What, len(b.Commits))
}

// Done is the answer to a request.
type Done struct {
	Worker ID           `json:"worker"`
	AtMs   int64        `json:"at_ms"`
	Text   string       `json:"text"`
	File   store.Digest `json:"file,omitempty"`
}

// Pause asks all workers to rest, or to go on. The latest one decides.
type Pause struct {
	On   bool   `json:"on"`
	By   string `json:"by"`
	Text string `json:"text,omitempty"` // why
	AtMs int64  `json:"at_ms"`
}

// Swept says that entries were dropped from the database: who has read them reads it anew.
type Swept struct {
	AtMs int64 `json:"at_ms"`
}

// Entry gives what a store takes.
func (s *Swept) Entry() store.Entry { return entry(kindSwept, s) }

// Kinds of records: the first parts of keys.
const (
	kindTest    = "test"
	kindCode    = "code"
	kindCommit  = "commit"
	kindEnv     = "env"
	kindWorker  = "worker"
	kindSpan    = "span"
	kindFound   = "found"
	kindCorpus  = "corpus"
	kindFailure = "failure"
	kindReplay  = "replay"
	kindNote    = "note"
	kindRequest = "request"
	kindDone    = "done"
	kindPause   = "pause"
	kindDistil  = "distilled"
	kindBisect  = "bisected"
	kindPage    = "page"

	kindExplained = "explained"
	kindCounted   = "counted"
	kindSwept     = "swept"
)

// CommitPrefix is the prefix of all commits.
const CommitPrefix = kindCommit

// Prefixes of all tests and all failures.
const (
	AllTests    = kindTest + "/"
	AllFailures = kindFailure + "/"
)

// FailuresOf is the prefix of the failures of a test.
func FailuresOf(test ID) string { return key(kindFailure, test) + "/" }

// Prefixes returns the prefixes of the records that a worker of a test reads; effort adds spans.
func Prefixes(test, code ID, effort bool) []string {
	list := []string{FailuresOf(test), key(kindReplay, test) + "/", key(kindPage, test) + "/", key(kindCorpus, test),
		key(kindDistil, test), key(kindFound, test, code) + "/"}
	if effort {
		list = append(list, key(kindSpan, test, code)+"/")
	}
	return list
}

// RequestPrefixes returns the prefixes of people's requests to workers, and of the answers.
func RequestPrefixes() []string { return []string{kindRequest + "/", kindDone + "/", PausePrefix} }

// PausePrefix is the prefix of all pauses.
const PausePrefix = kindPause

func key(kind string, ids ...ID) string {
	for _, id := range ids {
		kind += "/" + string(id)
	}
	return kind
}

// entry makes the entry of a record that is written as JSON.
func entry(key string, record any) store.Entry {
	b, err := json.Marshal(record)
	if err != nil {
		panic("records: " + err.Error()) // plain data
	}
	return store.Entry{Key: key, Value: b}
}

// Entry gives what a store takes.
func (t *Test) Entry() store.Entry { return entry(key(kindTest, TestID(t.Name)), t) }

// Entry gives what a store takes.
func (c *Code) Entry() store.Entry { return entry(key(kindCode, c.ID()), c) }

// Entry gives what a store takes.
func (c *Commit) Entry() store.Entry { return entry(kindCommit, c) }

// Entry gives what a store takes.
func (e *Env) Entry() store.Entry { return entry(key(kindEnv, e.ID()), e) }

// Entry gives what a store takes, of the worker of an ID.
func (w *Worker) Entry(id ID) store.Entry { return entry(key(kindWorker, id), w) }

// Entry gives what a store takes.
func (f *Found) Entry(test, code, env ID) store.Entry {
	return entry(key(kindFound, test, code, env), f)
}

// Entry gives what a store takes.
func (k *Kept) Entry(test ID) store.Entry { return entry(key(kindCorpus, test), k) }

// Entry gives what a store takes.
func (d *Distilled) Entry(test ID) store.Entry { return entry(key(kindDistil, test), d) }

// Entry gives what a store takes.
func (f *Failure) Entry(test ID) store.Entry {
	id := FailureID(test, f.Signature)
	f.ID = string(id)
	return entry(key(kindFailure, test, id), f)
}

// Entry gives what a store takes.
func (r *Replay) Entry(test, failure ID) store.Entry { return entry(key(kindReplay, test, failure), r) }

// Entry gives what a store takes.
func (b *Bisected) Entry(test, failure ID) store.Entry {
	return entry(key(kindBisect, test, failure), b)
}

// Entry gives what a store takes.
func (n *Note) Entry(test, failure ID) store.Entry { return entry(key(kindNote, test, failure), n) }

// Entry gives what a store takes.
func (r *Request) Entry() store.Entry { return entry(key(kindRequest, r.ID()), r) }

// Entry gives what a store takes.
func (p *Pause) Entry() store.Entry { return entry(kindPause, p) }

// Entry gives what a store takes, of the request of an ID.
func (d *Done) Entry(request ID) store.Entry { return entry(key(kindDone, request), d) }
