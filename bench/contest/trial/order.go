package trial

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Order asks a program that makes campaigns for one trial, by a file in the folder that OrderFolder names; its answer is another file there.
type Order struct {
	Strategy  string `json:"strategy"`
	Seed      uint64 `json:"seed"`
	Runs      uint64 `json:"runs"`
	TimeoutNs int64  `json:"timeout_ns,omitempty"`
	// Measure asks runs for what they reach, and does not stop at a violation.
	Measure bool `json:"measure,omitempty"`
	// Story asks for the schedule of the violation that was found, from its smallest run.
	Story bool `json:"story,omitempty"`
	// Attended says that standard input ends when no reader waits for the answer; the program then ends, too.
	Attended bool `json:"attended,omitempty"`
}

// OrderFolder is the variable of the environment that names the folder of an order.
const OrderFolder = "BLOODHOUND_TRIAL"

const (
	orderFile  = "order.json"
	begunFile  = "begun"
	answerFile = "answer.json"
	// maxAnswer bounds the file of an answer.
	maxAnswer = 16 << 20
)

// Answer is a program's report on the trial that it made.
type Answer struct {
	Trial
	// Error is why there is no trial: a mistake of the order, or of the world.
	Error string `json:"error,omitempty"`
}

// Save leaves an order in a folder.
func (o *Order) Save(dir string) error { return write(filepath.Join(dir, orderFile), o) }

// ordered reads the order of a folder, and notes there that its campaign begins.
func ordered(dir string) (*Order, error) {
	o := &Order{}
	if err := read(filepath.Join(dir, orderFile), o); err != nil {
		return nil, err
	}
	return o, os.WriteFile(filepath.Join(dir, begunFile), nil, 0o600)
}

// Overtime is how long a campaign may take beyond the timeout of its order: to replay the violation that it has found, and to print its story.
const Overtime = 30 * time.Second

// Left is how much time a program has that was given an order so long ago: 0 if it has answered, or has not begun its campaign within the timeout.
func (o *Order) Left(dir string, ago time.Duration) time.Duration {
	timeout := time.Duration(o.TimeoutNs)
	if left := timeout - ago; left > 0 {
		return left
	}
	if _, err := os.Stat(filepath.Join(dir, answerFile)); err == nil {
		return 0
	}
	begun, err := os.Stat(filepath.Join(dir, begunFile))
	if err != nil {
		return 0
	}
	return max(timeout+Overtime-time.Since(begun.ModTime()), 0)
}

// Begun reports whether the campaign of an order has begun.
func Begun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, begunFile))
	return err == nil
}

// Save leaves an answer in a folder. A program answers once.
func (a *Answer) Save(dir string) error {
	path := filepath.Join(dir, answerFile)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("this program makes several campaigns, and a trial is one: give it arguments that choose one of them")
	}
	return write(path, a)
}

// Answered reads the answer of a folder.
func Answered(dir string) (*Answer, error) {
	a := &Answer{}
	return a, read(filepath.Join(dir, answerFile), a)
}

func write(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// A program may be ended at any time, and half a file is none.
	if err := os.WriteFile(path+".part", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func read(path string, v any) error {
	text, err := regular.Read(path, maxAnswer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
