// Command marked prints a pattern for the flags -run and -skip of go test that matches the tests with a mark. A mark is a
// directive below the comment of a test, and may name some of its subtests:
//
//	//ci:later memory
//	func TestHostilePrograms(t *testing.T) {
//
// CI runs all tests once as root, and repeats some as other users. A test of an engine without a mark is repeated as a user who is
// denied user namespaces. The marks:
//
//	series    a long series of runs that does not depend on the user: never repeated
//	later     a long test of a world: repeated as a user with user namespaces, in parallel with other tests
//	underway  a test of running worlds: repeated as a user with user namespaces
//	user      a test of the command line that depends on the user: repeated as a user
//	nouserns  a test of the command line that depends on user namespaces: repeated without them
//
// Its arguments are marks, joined by commas, and folders. FOLDER/... includes subfolders.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const prefix = "//ci:"

var marks = []string{"series", "later", "underway", "user", "nouserns"}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: marked MARK[,MARK...] FOLDER...")
		os.Exit(2)
	}
	pattern, err := matching(strings.Split(os.Args[1], ","), os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "marked:", err)
		os.Exit(1)
	}
	fmt.Println(pattern)
}

// matching returns the pattern for tests that have one of the marks. A mark that no test has is an error.
func matching(wanted, folders []string) (string, error) {
	found := map[string][]string{}
	for _, folder := range folders {
		files, err := testFiles(folder)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if err := read(file, found); err != nil {
				return "", err
			}
		}
	}
	var all []string
	for _, mark := range wanted {
		if !slices.Contains(marks, mark) {
			return "", fmt.Errorf("%q is not a mark; marks are %s", mark, strings.Join(marks, ", "))
		}
		if len(found[mark]) == 0 {
			return "", fmt.Errorf("no test below %s has the mark %s%s", strings.Join(folders, ", "), prefix, mark)
		}
		all = append(all, found[mark]...)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "|"), nil
}

func testFiles(folder string) (files []string, err error) {
	root, deep := strings.CutSuffix(folder, "/...")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && !deep, d.Name() == "testdata":
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// read adds the patterns of a file's marked tests to each mark.
func read(file string, found map[string][]string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Doc == nil {
			continue
		}
		for _, line := range function.Doc.List {
			text, ok := strings.CutPrefix(line.Text, prefix)
			if !ok {
				continue
			}
			words := strings.Fields(text)
			if len(words) == 0 || !slices.Contains(marks, words[0]) || !strings.HasPrefix(function.Name.Name, "Test") {
				return fmt.Errorf("%s: %s has the mark %q; only tests can have marks, one of %s",
					file, function.Name.Name, line.Text, strings.Join(marks, ", "))
			}
			found[words[0]] = append(found[words[0]], pattern(function.Name.Name, words[1:]))
		}
	}
	return nil
}

func pattern(test string, subtests []string) string {
	if len(subtests) == 0 {
		return "^" + test + "$"
	}
	return "^" + test + "$/^(" + strings.Join(subtests, "|") + ")$"
}
