package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// surroundings is the world of the engine native in which this program runs: its tape decides about faults, its ledger counts them.
type surroundings struct {
	mu   sync.Mutex
	file io.ReadWriter
}

// around opens the world around this program. There is none outside, nor with engines that know no faults of programs.
var around = sync.OnceValue(func() *surroundings {
	file, err := os.OpenFile(world.MishapPath, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return &surroundings{file: file}
})

// ask asks the world, and returns its answer.
func (s *surroundings) ask(format string, args ...any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer [256]byte
	if _, err := fmt.Fprintf(s.file, format, args...); err != nil {
		panic(fmt.Sprintf("sdk: %v", err))
	}
	n, _ := s.file.Read(answer[:])
	if text := string(answer[:n]); !strings.HasPrefix(text, "!") {
		return text
	}
	panic("sdk: the world answers " + string(answer[:n]))
}

func (s *surroundings) mishap(kind string, rate float64) bool {
	ppm := uint64(0)
	if rate > 0 {
		ppm = max(1, uint64(rate*tape.Certain))
	}
	return s.ask("mishap %s %d", kind, ppm) == "1"
}

func (s *surroundings) choose(name string, k int) int {
	n, err := strconv.Atoi(s.ask("choose %s %d", name, k))
	if err != nil {
		panic(fmt.Sprintf("sdk: %v", err))
	}
	return n
}

func (s *surroundings) observed(kind string) { s.ask("observed %s", kind) }

// quiet ends all faults of the world until this program ends.
func (s *surroundings) quiet() error {
	return os.WriteFile(world.ControlPath, []byte(world.FaultsOffLine+"\n"), 0)
}

// play makes the run of a test that the world's tape decides.
func (s *surroundings) play(t *testing.T, body func(*Run)) (*Run, error) {
	err := s.report(t.Name(), "invoke")
	r := play(t, tape.Tape{}, s, body)
	return r, errors.Join(err, s.judge(t.Name(), r), s.report(t.Name(), "ok"))
}

// report writes a record of a test into the history of the world (docs/reference/workloads.md): a run of which it knows no operation shows nothing.
func (s *surroundings) report(test, kind string) error {
	line, err := json.Marshal(map[string]string{"client": "sdk", "type": kind, "op": test})
	if err != nil {
		return err
	}
	return add(os.Getenv("BLOODHOUND_REPORT"), line)
}

// judge reports whether a test holds, as an assertion of the world's, and for each fault that it names that it must happen in some run of a campaign.
func (s *surroundings) judge(test string, r *Run) error {
	err := assert(test, "always", "Always", test+" holds", len(r.failures) == 0, map[string]any{"failures": r.failures})
	for _, kind := range slices.Sorted(maps.Keys(r.counts)) {
		err = errors.Join(err, assert(test, "sometimes", "Sometimes", kind+" happens", r.counts[kind].Delivered > 0,
			map[string]any{"calls": r.counts[kind].Asked}))
	}
	return err
}

// assert writes an assertion of a test.
func assert(test, kind, shown, message string, condition bool, details map[string]any) error {
	type place struct {
		Class    string `json:"class"`
		Function string `json:"function"`
		File     string `json:"file"`
		Line     int    `json:"begin_line"`
		Column   int    `json:"begin_column"`
	}
	line, err := json.Marshal(map[string]any{"antithesis_assert": map[string]any{
		"hit": true, "must_hit": true, "assert_type": kind, "display_type": shown, "message": message, "id": message, "condition": condition,
		"location": place{Function: test}, "details": details,
	}})
	if err != nil {
		return err
	}
	return add(os.Getenv("ANTITHESIS_SDK_LOCAL_OUTPUT"), line)
}

// add adds a line to a file of the world.
func add(name string, line []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(line, '\n'))
	return err
}
