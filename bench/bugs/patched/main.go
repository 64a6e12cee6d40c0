// Command patched builds the program of the current folder with one piece of one file of one of its packages replaced: what a bug
// of a released library is compared with where no release repairs it, and how a bug is planted in a program that has none.
//
//	patched -package example.org/store -file store.go -old 'TEXT' -new 'TEXT' -o PROGRAM [PACKAGE TO BUILD]
//
// It fails unless the file has the text exactly once.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("patched: ")
	pkg := flag.String("package", "", "the package that has the file")
	file := flag.String("file", "", "the file, without its folder")
	before := flag.String("old", "", "what is replaced")
	after := flag.String("new", "", "what takes its place")
	out := flag.String("o", "", "the program")
	flag.Parse()
	if *pkg == "" || *file == "" || *before == "" || *out == "" || flag.NArg() > 1 {
		log.Fatal("-package, -file, -old and -o are needed, and one package to build at most")
	}
	if err := build(*pkg, *file, *before, *after, *out, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func build(pkg, file, before, after, out string, main []string) error {
	description, err := exec.Command("go", "list", "-json=Dir,Module", pkg).Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", pkg, err)
	}
	var found struct {
		Dir    string
		Module struct {
			Path, Dir string
			Main      bool
		}
	}
	if err := json.Unmarshal(description, &found); err != nil {
		return err
	}
	original := filepath.Join(found.Dir, file)
	source, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	changed, err := replace(string(source), before, after)
	if err != nil {
		return fmt.Errorf("%s: %w", original, err)
	}
	temporary, err := os.MkdirTemp("", "bloodhound-patched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)

	var flags []string
	if found.Module.Main {
		flags, err = overlay(temporary, original, changed)
	} else {
		var place string
		if place, err = filepath.Rel(found.Module.Dir, original); err == nil {
			flags, err = instead(temporary, found.Module.Path, found.Module.Dir, place, changed)
		}
	}
	if err != nil {
		return err
	}
	arguments := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", out}, flags...)
	return goes(append(arguments, main...)...)
}

// overlay gives the flags with which go build reads the changed text in place of a file.
func overlay(temporary, original, changed string) ([]string, error) {
	replacement := filepath.Join(temporary, filepath.Base(original))
	if err := os.WriteFile(replacement, []byte(changed), 0o644); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return nil, err
	}
	list := filepath.Join(temporary, "overlay.json")
	return []string{"-overlay", list}, os.WriteFile(list, text, 0o644)
}

// instead gives the flags with which go build takes a copy of a module, with one file changed, in place of that module: files of the
// module cache cannot be overlaid.
func instead(temporary, module, dir, file, changed string) ([]string, error) {
	replacement := filepath.Join(temporary, "module")
	if err := os.CopyFS(replacement, os.DirFS(dir)); err != nil {
		return nil, err
	}
	place := filepath.Join(replacement, file)
	if err := os.Chmod(place, 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(place, []byte(changed), 0o644); err != nil {
		return nil, err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(temporary, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	list := filepath.Join(temporary, "go.mod")
	return []string{"-modfile", list}, goes("mod", "edit", "-replace", module+"="+replacement, list)
}

func goes(arguments ...string) error {
	command := exec.Command("go", arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

func replace(source, before, after string) (string, error) {
	if n := strings.Count(source, before); n != 1 {
		return "", fmt.Errorf("has the text to replace %d times, not once:\n%s", n, before)
	}
	return strings.Replace(source, before, after, 1), nil
}
