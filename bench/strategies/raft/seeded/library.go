package seeded

import (
	"fmt"
	"io/fs"
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

// Flags returns the flags with which `go build`, `go test` and `go run`, in the module of this package, build the library with a bug.
// The working directory is in that module. The program's variable main.built, if it has one, is set to the bug's name. The folder
// dir/NAME holds a copy of the library with the bug, and a go.mod by which the module uses it. (An overlay of the changed files would
// do, but for Go's coverage, which counts blocks of the files that lie beneath.)
func Flags(dir string, b Bug) (flags []string, err error) {
	source, err := command("go", "list", "-m", "-f", "{{.Dir}}", library)
	if err != nil {
		return nil, err
	}
	of, err := command("go", "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(filepath.Join(dir, b.Name)); err != nil {
		return nil, err
	}
	copied := filepath.Join(dir, "library")
	if err := os.RemoveAll(copied); err != nil {
		return nil, err
	}
	if err := copyLibrary(copied, source); err != nil {
		return nil, err
	}
	if err := edit(copied, b); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(of)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(strings.TrimSuffix(of, ".mod") + ".sum")
	if err != nil {
		return nil, err
	}
	modfile := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
		return nil, err
	}
	text = fmt.Appendf(text, "\nreplace %s => %q\n", library, copied)
	return []string{"-modfile=" + modfile, "-ldflags=-X=main.built=" + b.Name}, os.WriteFile(modfile, text, 0o644)
}

// copyLibrary copies the files of the library that are built, and its specification.
func copyLibrary(to, source string) error {
	return filepath.WalkDir(source, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir() && e.Name() == "testdata":
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o644)
	})
}

// edit puts a bug into a copy of the library.
func edit(copied string, b Bug) error {
	for _, e := range b.Edits {
		path := filepath.Join(copied, filepath.FromSlash(e.File))
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("bug %s: %w", b.Name, err)
		}
		if n := strings.Count(string(text), e.Old); n != 1 {
			return fmt.Errorf("bug %s: %s has the text that an edit changes %d times, and not once: is it the file of another version?\n%s", b.Name,
				e.File, n, e.Old)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), e.Old, e.New, 1)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Build makes the program of a package of this module, by its path, with a bug in the library. It lies in the folder that Flags has.
func Build(dir, path string, b Bug) (program string, err error) {
	flags, err := Flags(dir, b)
	if err != nil {
		return "", err
	}
	program = filepath.Join(dir, b.Name, "program")
	if _, err := command("go", append(append([]string{"build", "-o", program}, flags...), path)...); err != nil {
		return "", fmt.Errorf("bug %s: %w", b.Name, err)
	}
	return program, nil
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
