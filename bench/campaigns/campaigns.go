// Package campaigns runs campaigns of the program bloodhound and reads their documents, for tables of this folder.
package campaigns

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// Campaign is a part of the document of explore.
type Campaign struct {
	ExitCode int `json:"exit_code"`
	Campaign struct {
		Runs      int       `json:"runs"`
		WallNs    int64     `json:"wall_ns"`
		VirtualNs int64     `json:"virtual_ns"`
		Failures  []Failure `json:"failures"`
	} `json:"campaign"`
}

// Failure is a failure of a campaign.
type Failure struct {
	ID       string `json:"id"`
	Property string `json:"property"`
	Headline string `json:"headline"`
	Shrunk   *struct {
		From Size `json:"from"`
		To   Size `json:"to"`
		Runs int  `json:"runs"`
	} `json:"shrunk"`
}

// Size counts the parts of a failing run.
type Size struct {
	Faults     int `json:"faults"`
	Operations int `json:"operations"`
	Decisions  int `json:"decisions"`
}

// Verdict is the word for the exit code of a campaign.
func (c *Campaign) Verdict() string {
	words := map[int]string{0: "holds", 1: "VIOLATED", 5: "unknown"}
	if word := words[c.ExitCode]; word != "" {
		return word
	}
	return fmt.Sprintf("exit code %d", c.ExitCode)
}

// Explore runs a campaign with further arguments.
func Explore(program string, args ...string) (c Campaign, err error) {
	err = Document(&c, program, append([]string{"explore", "--json"}, args...)...)
	return c, err
}

// Document runs a verb and decodes the document that it prints. The exit code is in the document.
func Document(to any, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, _ := cmd.Output()
	if err := json.Unmarshal(out, to); err != nil {
		return fmt.Errorf("%w in %s", err, out)
	}
	return nil
}
