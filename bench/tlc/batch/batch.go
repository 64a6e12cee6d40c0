// Package batch runs TLC for many specifications, several hundred in one Java virtual machine.
package batch

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
)

//go:embed Batch.java
var program []byte

// perMachine is how many specifications one Java virtual machine takes: TLC keeps something of each.
const perMachine = 1000

// Model is a specification with its configuration.
type Model struct {
	Spec    string   // a file
	Config  string   // a file, or nothing: TLC looks for one beside Spec
	Options []string // of TLC
}

// Run runs TLC for each model, with one worker, and gives its answers in the same order. What TLC has no time for, where a limit in seconds is given, is nil.
func Run(jars []string, models []Model, limit int) ([]*tlc.Opinion, error) {
	var class []string
	for _, jar := range jars {
		path, err := filepath.Abs(jar)
		if err != nil {
			return nil, err
		}
		class = append(class, path)
	}
	dir, err := os.MkdirTemp("", "batch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "Batch.java")
	if err := os.WriteFile(source, program, 0o644); err != nil {
		return nil, err
	}
	var answers []*tlc.Opinion
	for len(answers) < len(models) {
		list := models[len(answers):min(len(models), len(answers)+perMachine)]
		more, err := machine(class, source, dir, list, limit)
		if err != nil {
			return nil, err
		}
		answers = append(answers, more...)
	}
	return answers, nil
}

// machine runs one Java virtual machine. One that has reached the limit of a model ends, and the next one goes on after that model.
func machine(jars []string, source, dir string, list []Model, limit int) ([]*tlc.Opinion, error) {
	var input strings.Builder
	for _, m := range list {
		fields := m.Options
		if m.Config != "" {
			fields = append(fields[:len(fields):len(fields)], "-config", m.Config)
		}
		fmt.Fprintln(&input, strings.Join(append(fields[:len(fields):len(fields)], strings.TrimSuffix(m.Spec, ".tla")), "\t"))
	}
	class := strings.Join(jars, string(filepath.ListSeparator))
	// Small models end before a second compiler is worth its time.
	java := exec.Command("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx2g", "-Dtlc2.tool.impl.Tool.cdot=true",
		"-cp", class, source, fmt.Sprint(limit))
	java.Dir = dir
	var wrong bytes.Buffer
	java.Stdin, java.Stderr = strings.NewReader(input.String()), &wrong
	out, err := java.Output()
	runs := bytes.Split(out, []byte("\n@@@ "))[1:]
	var answers []*tlc.Opinion
	for _, said := range runs {
		answers = append(answers, tlc.Read(string(said)))
	}
	switch {
	case len(answers) == 0 || len(answers) > len(list):
		return nil, fmt.Errorf("TLC has %d answers for %d models (%v): a JDK is needed\n%s", len(answers), len(list), err, wrong.String())
	case len(answers) < len(list) || bytes.HasSuffix(out, []byte("\n@@@ late\n")):
		answers[len(answers)-1] = nil
	}
	return answers, nil
}
