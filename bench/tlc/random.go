//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
)

// perMachine is how many specifications one Java virtual machine takes: TLC keeps something of each.
const perMachine = 500

// answers writes what TLC finds in specifications of package random, from one number up to another, a line each, as the tests of package tla
// read it.
func answers(jars []string, from, end int, to io.Writer) error {
	dir, err := os.MkdirTemp("", "random")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for first := from; first < end; first += perMachine {
		if err := batch(jars, dir, first, min(first+perMachine, end), to); err != nil {
			return err
		}
	}
	return nil
}

// batch takes the specifications from one number up to another.
func batch(jars []string, dir string, first, end int, to io.Writer) error {
	var list strings.Builder
	for i := first; i < end; i++ {
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		for name, text := range random.Make(uint64(i)) {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		spec := filepath.Join(folder, random.Root)
		fmt.Fprintf(&list, "-config\t%s.cfg\t%s\n", spec, spec)
	}
	java := exec.Command("java", "-XX:+UseSerialGC", "-cp", strings.Join(jars, string(filepath.ListSeparator)), filepath.Join("bench", "tlc", "Batch.java"))
	java.Stdin, java.Stderr = strings.NewReader(list.String()), os.Stderr
	out, err := java.Output()
	if err != nil {
		return fmt.Errorf("%w: a JDK is needed, and this is to be run from the root of the repository", err)
	}
	runs := bytes.Split(out, []byte("@@@ "))[1:]
	if len(runs) != end-first {
		return errors.New("TLC did not answer for each specification")
	}
	for _, said := range runs {
		o := tlc.Read(string(said))
		switch {
		case len(o.Violations) > 0:
			v := o.Violations[0]
			fmt.Fprintln(to, random.Answer{Kind: string(v.Kind), Name: v.Name, Generated: o.Generated, Distinct: o.Distinct})
		case strings.Contains(o.Said, "StackOverflowError"):
			fmt.Fprintln(to, random.Answer{Kind: random.Endless})
		case !o.Completed:
			fmt.Fprintln(to, random.Answer{Kind: random.Failed})
		default:
			fmt.Fprintln(to, random.Answer{Kind: random.Holds, Generated: o.Generated, Distinct: o.Distinct})
		}
	}
	return nil
}
