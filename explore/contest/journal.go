package contest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
)

// Journal is the file of a comparison: the settings, and then each trial as it ends, as lines of JSON. It is only appended to,
// and each line is on the disk before the next trial begins, so that what was written survives whatever ends the program.
type Journal struct {
	Done []Trial
	file *os.File
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
	if err := j.line(s); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// Resume goes on with a journal whose settings are s. A last line that was cut short is removed: its trial is made again.
func Resume(path string, s *Settings) (*Journal, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no journal %s to go on with: begin one without --resume, or name another with --journal", path)
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	whole := int64(0)
	j := &Journal{}
	for i, line := range lines {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // cut short, or nothing
		}
		whole += int64(len(line))
		if i == 0 {
			var old Settings
			if err := json.Unmarshal(line, &old); err != nil {
				return nil, fmt.Errorf("%s is no journal of trials: %w", path, err)
			}
			if err := differ(&old, s); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			continue
		}
		var t Trial
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		j.Done = append(j.Done, t)
	}
	if whole == 0 {
		return nil, fmt.Errorf("%s has no settings; remove it and begin anew", path)
	}
	if err := os.Truncate(path, whole); err != nil {
		return nil, err
	}
	j.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return j, err
}

// differ says which setting is another one than trials were made with.
func differ(old, now *Settings) error {
	a, b := reflect.ValueOf(*old), reflect.ValueOf(*now)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("its trials were made with other settings: %s was %v and is %v; a comparison keeps its settings, so begin another one with --journal",
				a.Type().Field(i).Name, x, y)
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
