package sweeping

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
)

// stateVersion changes when an earlier file cannot be read any more.
const stateVersion = 2

// outcome is the result of a run with strikes.
type outcome struct {
	Hash       string         `json:"hash"`
	CPUNs      int64          `json:"cpu_ns"`
	Missed     bool           `json:"missed,omitempty"` // a strike was not delivered
	Violations []violation    `json:"violations,omitempty"`
	Recovery   []sweep.Series `json:"recovery,omitempty"` // of the node that was struck
}

// violation is a violated property.
type violation struct {
	Signature string `json:"signature"`
	Property  string `json:"property"`
	Reason    string `json:"reason"`
}

// stateLine is one line of the file of a sweep: its head, the outcome of a candidate, or a finding.
type stateLine struct {
	Version int `json:"version,omitempty"`
	// Baseline names the run without faults: the moments of another run are others.
	Baseline  string           `json:"baseline,omitempty"`
	Candidate *sweep.Candidate `json:"candidate,omitempty"`
	Outcome   *outcome         `json:"outcome,omitempty"`
	Finding   *Finding         `json:"finding,omitempty"`
}

// state remembers the results of earlier sweeps of the same run, in a file that grows by a line at a time: who is
// killed loses the runs under way.
type state struct {
	mu       sync.Mutex
	file     *os.File
	results  map[string]*outcome
	findings map[string]*Finding
}

// openState reads the file of a sweep. One of another baseline is begun anew.
func openState(path, baseline string) (*state, error) {
	s := &state{results: map[string]*outcome{}, findings: map[string]*Finding{}}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	s.file = file
	end, err := s.read(baseline)
	if err == nil {
		err = file.Truncate(end) // a line that was cut short, or all lines
	}
	if err == nil && end == 0 {
		err = s.add(stateLine{Version: stateVersion, Baseline: baseline})
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// read takes in the lines of the file, and gives the end of the last one that is whole; 0 if none counts.
func (s *state) read(baseline string) (end int64, err error) {
	in := bufio.NewReader(s.file)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		var r stateLine
		if json.Unmarshal(line, &r) != nil {
			return end, nil
		}
		if end == 0 && (r.Version != stateVersion || r.Baseline != baseline) {
			return 0, nil
		}
		end += int64(len(line))
		s.addLine(&r)
	}
}

// addLine adds the outcome or the finding of a line, with a signature as this version writes it.
func (s *state) addLine(r *stateLine) {
	if r.Candidate != nil && r.Outcome != nil {
		for i := range r.Outcome.Violations {
			v := &r.Outcome.Violations[i]
			v.Signature = failure.Former(v.Property, v.Reason, v.Signature) // an earlier version may have swept
		}
		s.results[r.Candidate.Key()] = r.Outcome
	}
	if f := r.Finding; f != nil {
		f.Signature, f.Headline = failure.Former(f.Property, f.Reason, f.Signature), failure.Headline(f.Reason)
		s.findings[f.key()] = f
	}
}

// add appends a line.
func (s *state) add(r stateLine) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.file.Write(append(b, '\n'))
	return err
}

// result is the outcome of a candidate that an earlier sweep has tried.
func (s *state) result(c *sweep.Candidate) *outcome { return s.results[c.Key()] }

// finding is one that an earlier sweep has confirmed.
func (s *state) finding(key string) *Finding { return s.findings[key] }

func (s *state) close() { s.file.Close() }

// key tells findings apart.
func (f *Finding) key() string { return f.Class + "\n" + f.Signature }

// compareFindings puts the severe ones first.
func compareFindings(a, b *Finding) int {
	rank := func(f *Finding) int {
		switch {
		case !f.Replays:
			return 3
		case f.Restart == Goes:
			return 2
		case f.Restart == Untested:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Signature, b.Signature), cmp.Compare(a.Class, b.Class))
}
