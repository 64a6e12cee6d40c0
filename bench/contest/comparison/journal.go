package comparison

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
)

// Journal is the file of a comparison: the settings, and then each trial as it ends, as lines of JSON. It is only appended to,
// and each line is on the disk before the next trial begins, so that what was written survives whatever ends the program.
//
// Only one program at a time has it: two would make the same trials, and what is made twice is no further evidence.
type Journal struct {
	Done []Trial
	file *os.File
}

// version is that of a journal's form. Trials of another form may mean something else.
const version = 2

// header is a journal's first line.
type header struct {
	Journal int `json:"journal"`
	Settings
}

// Open begins the journal of a comparison, or continues with the one that there is.
func Open(path string, s *Settings, resume bool) (*Journal, error) {
	if resume {
		return Resume(path, s)
	}
	return Create(path, s)
}

// Create begins the journal of a comparison. There must be none yet.
func Create(path string, s *Settings) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists; go on with it by --resume, or name another file with --journal", path)
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f}
	if err = hold(f, path); err == nil {
		err = j.line(header{version, *s})
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// Resume continues with a journal whose settings are s. A last line that was cut short is removed: its trial is made again.
func Resume(path string, s *Settings) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no journal %s to go on with: begin one without --resume, or name another with --journal", path)
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f}
	if err = hold(f, path); err == nil {
		err = j.read(path, s)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// hold takes the lock on a journal. The system gives it up when the program ends, however it does.
func hold(f *os.File, path string) error {
	// On a file system without locks no process holds one: a trial that is there twice is refused when the journal is read.
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s is in use: another comparison writes its trials there; wait until it has ended, or name another file with --journal", path)
	}
	return nil
}

func (j *Journal) read(path string, s *Settings) error {
	text, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	whole := int64(0)
	expected, made := map[key]bool{}, map[key]int{}
	for _, t := range Missing(s, nil) {
		expected[keyOf(&t)] = true
	}
	for i, line := range lines {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // cut short, or nothing
		}
		whole += int64(len(line))
		if i == 0 {
			var old header
			if err := json.Unmarshal(line, &old); err != nil {
				return fmt.Errorf("%s is no journal of trials: %w; name another file with --journal", path, err)
			}
			if old.Journal != version {
				return fmt.Errorf("%s:1: another version of Bloodhound has written this journal: its form is %d, and this program's is %d; "+
					"go on with the program that began it, or begin another one with --journal", path, max(old.Journal, 1), version)
			}
			if err := differ(&old.Settings, s); err != nil {
				return fmt.Errorf("%s: its trials were made with other settings: %w; a comparison keeps its settings, so begin another one with --journal",
					path, err)
			}
			continue
		}
		var t Trial
		if err := json.Unmarshal(line, &t); err != nil {
			return fmt.Errorf("%s:%d: %w; remove this line, and its trial is made again", path, i+1, err)
		}
		if err := possible(&t, s, expected); err != nil {
			return fmt.Errorf("%s:%d: %w; remove this line", path, i+1, err)
		}
		if first := made[keyOf(&t)]; first != 0 {
			return fmt.Errorf("%s:%d: the trial of %s with %s and seed %d stands here a second time, after line %d: trials count once; remove one of the lines",
				path, i+1, t.Bug, t.Strategy, t.Seed, first)
		}
		made[keyOf(&t)] = i + 1
		j.Done = append(j.Done, t)
	}
	if whole == 0 {
		return fmt.Errorf("%s has no settings; remove it and begin anew", path)
	}
	return j.file.Truncate(whole)
}

// possible reports whether a trial is one that the settings ask for, with an end that it can have.
func possible(t *Trial, s *Settings, expected map[key]bool) error {
	switch {
	case !expected[keyOf(t)]:
		return fmt.Errorf("a trial of %q with %q and seed %d is none of this comparison", t.Bug, t.Strategy, t.Seed)
	case t.Found && t.Runs == 0 || t.Runs > s.Runs:
		return fmt.Errorf("a trial of at most %d runs cannot end after %d", s.Runs, t.Runs)
	case t.CutOff && (t.Found || s.TimeoutNs == 0):
		return errors.New("this trial cannot have been cut off by a timeout")
	}
	return nil
}

// differ says which setting is another one than trials were made with.
func differ(old, now *Settings) error {
	a, b := reflect.ValueOf(*old), reflect.ValueOf(*now)
	for i := range a.NumField() {
		name, x, y := a.Type().Field(i).Name, a.Field(i).Interface(), b.Field(i).Interface()
		switch {
		case reflect.DeepEqual(x, y):
		case name == "Bugs":
			return differentBugs(old.Bugs, now.Bugs)
		default:
			return fmt.Errorf("%s was %v and is %v", name, x, y)
		}
	}
	return nil
}

func differentBugs(old, now []Bug) error {
	names := func(list []Bug) (names []string) {
		for _, b := range list {
			names = append(names, b.Name)
		}
		return names
	}
	if was, is := names(old), names(now); !slices.Equal(was, is) {
		return fmt.Errorf("the bugs were %s and are %s", strings.Join(was, " "), strings.Join(is, " "))
	}
	for i, b := range old {
		if b.Spec != now[i].Spec {
			return fmt.Errorf("the configuration of %s has changed", b.Name)
		}
		for _, path := range slices.Sorted(maps.Keys(b.Files)) {
			if is, ok := now[i].Files[path]; !ok {
				return fmt.Errorf("the runs of %s read %s, and do so no more", b.Name, path)
			} else if is != b.Files[path] {
				return fmt.Errorf("%s has changed, which the runs of %s read", path, b.Name)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(now[i].Files)) {
			if _, ok := b.Files[path]; !ok {
				return fmt.Errorf("the runs of %s read %s now, and did not before", b.Name, path)
			}
		}
	}
	return nil
}

// Add writes a trial down.
func (j *Journal) Add(t Trial) error {
	if err := j.line(t); err != nil {
		return err
	}
	j.Done = append(j.Done, t)
	return nil
}

func (j *Journal) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
