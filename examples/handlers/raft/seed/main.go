// Command seed copies this example to a folder, with etcd's Raft beside it, and puts a bug into that: a follower commits up to the end of its log, instead of the last entry that the leader's
// message confirms.
//
//	go run ./seed FOLDER
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module     = "go.etcd.io/raft/v3"
	bloodhound = "github.com/bloodhound-dst/bloodhound"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./seed FOLDER")
		os.Exit(2)
	}
	if err := seed(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func seed(to string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	from, err := output("go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	raft := filepath.Join(to, "raft")
	if err := os.CopyFS(raft, os.DirFS(from)); err != nil {
		return err
	}
	name := filepath.Join(raft, "log.go")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	right, wrong := []byte("l.commitTo(min(committed, lastnewi))"), []byte("l.commitTo(min(committed, l.lastIndex()))")
	if bytes.Count(text, right) != 1 {
		return fmt.Errorf("%s is not the version that this knows", name)
	}
	if err := os.Remove(name); err != nil {
		return err
	}
	if err := os.WriteFile(name, bytes.Replace(text, right, wrong, 1), 0o644); err != nil {
		return err
	}
	for _, file := range []string{"go.mod", "go.sum", "follower.go", "follower_test.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, file), data, 0o644); err != nil {
			return err
		}
	}
	edit := []string{"mod", "edit", "-replace=" + module + "=" + raft}
	for _, own := range []string{bloodhound, bloodhound + "/live"} { // from wherever go.mod takes them
		dir, err := output("go", "list", "-m", "-f", "{{.Dir}}", own)
		if err != nil {
			return err
		}
		edit = append(edit, "-replace="+own+"="+dir)
	}
	_, err = output("go", append(edit, filepath.Join(to, "go.mod"))...)
	return err
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
