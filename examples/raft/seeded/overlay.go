package seeded

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Edit changes a file of the library: Old, which must be there once, becomes New.
type Edit struct {
	File, Old, New string
}

// library is the module that edits change.
const library = "go.etcd.io/raft/v3"

// Flags gives what `go build`, `go test` and `go run` need in the module of this package to have a bug in the library. The working directory
// is one of that module. A folder holds what the flags name: a copy of the library, which all bugs share, as Go refuses to overlay files of its
// module cache, and what each bug changes of it.
func Flags(dir string, b Bug) (flags []string, err error) {
	copied := filepath.Join(dir, "library")
	modfile := filepath.Join(dir, "go.mod")
	if _, err := os.Stat(modfile); err != nil {
		if err := take(copied, modfile); err != nil {
			return nil, err
		}
	}
	file, err := overlay(filepath.Join(dir, b.Name), copied, b)
	return []string{"-modfile=" + modfile, "-overlay=" + file}, err
}

// take copies the library that the module uses, and writes a go.mod by which it uses the copy.
func take(copied, modfile string) error {
	source, err := command("go", "list", "-m", "-f", "{{.Dir}}", library)
	if err != nil {
		return err
	}
	of, err := command("go", "env", "GOMOD")
	if err != nil {
		return err
	}
	if err := os.CopyFS(copied, os.DirFS(source)); err != nil {
		return err
	}
	text, err := os.ReadFile(of)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(strings.TrimSuffix(of, ".mod") + ".sum")
	if err != nil {
		return err
	}
	if err := os.WriteFile(strings.TrimSuffix(modfile, ".mod")+".sum", sums, 0o644); err != nil {
		return err
	}
	absolute, err := filepath.Abs(copied)
	if err != nil {
		return err
	}
	return os.WriteFile(modfile, fmt.Appendf(text, "\nreplace %s => %q\n", library, absolute), 0o644)
}

func command(name string, args ...string) (string, error) {
	var said strings.Builder
	c := exec.Command(name, args...)
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// overlay writes the files that a bug changes into a folder, and the file that says which they replace.
func overlay(dir, source string, b Bug) (file string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	changed := map[string]string{}
	for _, e := range b.Edits {
		text, ok := changed[e.File]
		if !ok {
			was, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(e.File)))
			if err != nil {
				return "", fmt.Errorf("bug %s: %w", b.Name, err)
			}
			text = string(was)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("bug %s: %s has the text that an edit changes %d times, and not once: is it the file of another version?\n%s", b.Name, e.File, n, e.Old)
		}
		changed[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	replace := map[string]string{}
	for name, text := range changed {
		to, err := filepath.Abs(filepath.Join(dir, strings.ReplaceAll(name, "/", "_")))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", err
		}
		from, err := filepath.Abs(filepath.Join(source, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		replace[from] = to
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o644)
}

// Build makes the program of a package of this module, by its path, with a bug in the library. It lies in the folder that Flags has.
func Build(dir, path string, b Bug, more ...string) (program string, err error) {
	flags, err := Flags(dir, b)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, b.Name, "program")
	args := append(append([]string{"build", "-o", program}, flags...), more...)
	if _, err := command("go", append(args, path)...); err != nil {
		return "", fmt.Errorf("bug %s: %w", b.Name, err)
	}
	return program, nil
}
