package modules

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const pflag = "github.com/spf13/pflag" // a module that this one needs, so it lies in the module cache

// user makes the current folder a module that needs pflag. This module itself is one of a workspace, where nothing can be copied.
func user(t *testing.T) {
	t.Helper()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", pflag).Output()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26.0\n\nrequire " + pflag + " " + string(version),
		"go.sum": string(sums), "m.go": "package m\n\nimport _ \"" + pflag + "\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func options(t *testing.T, name string) Options {
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("package pflag\n\nfunc Added() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{Dir: ".", Patterns: []string{pflag}, Added: []Added{{pflag, file}}, Cache: t.TempDir(), Out: t.TempDir()}
}

func TestCopy(t *testing.T) {
	user(t)
	o := options(t, "added.go")
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for range 2 {
		flags, err := Copy(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command("go", append(append([]string{"list", "-f", "{{.Dir}} {{.GoFiles}}"}, flags...), pflag)...).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(text), o.Cache) || !strings.Contains(string(text), "added.go") {
			t.Fatalf("%v: %s", err, text)
		}
		dirs = append(dirs, strings.Fields(string(text))[0])
	}
	if dirs[0] != dirs[1] {
		t.Errorf("equal copies lie in %s and %s", dirs[0], dirs[1])
	}
	if now, err := os.ReadFile("go.mod"); err != nil || string(now) != string(gomod) {
		t.Errorf("go.mod has changed: %v", err)
	}
	o.Added[0] = options(t, "more.go").Added[0]
	if _, err := Copy(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(o.Cache); err != nil || len(entries) != 2 {
		t.Errorf("two different copies are in %d folders: %v", len(entries), err)
	}
}

func TestNothingIsCopied(t *testing.T) {
	user(t)
	flags, err := Copy(context.Background(), Options{Dir: ".", Patterns: []string{".", "strings"}, Cache: t.TempDir(), Out: t.TempDir()})
	if err != nil || flags != nil {
		t.Errorf("%v, %v", flags, err)
	}
}

func TestRefusals(t *testing.T) {
	user(t)
	there := options(t, "flag.go")
	own := options(t, "added.go")
	own.Added[0].Package = "m"
	missing := options(t, "added.go")
	missing.Added[0].File = filepath.Join(t.TempDir(), "none.go")
	for _, c := range []struct {
		o    Options
		says string
	}{
		{there, "has a file flag.go: give the added one another name"},
		{own, "is of no module in the module cache: put "},
		{missing, "no such file"},
	} {
		if _, err := Copy(context.Background(), c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, not: %s", err, c.says)
		}
	}
	for _, text := range []string{"", "p", "p=", "=f.go", "p=f.txt"} {
		if _, err := ParseAdded(text); err == nil {
			t.Errorf("%q adds a file", text)
		}
	}
	t.Run("workspace", func(t *testing.T) {
		dir := t.TempDir()
		root, err := filepath.Abs(".")
		if err != nil {
			t.Fatal(err)
		}
		work := filepath.Join(dir, "go.work")
		if err := os.WriteFile(work, []byte("go 1.26.0\n\nuse "+root+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GOWORK", work)
		if _, err := Copy(context.Background(), options(t, "added.go")); err == nil || !strings.Contains(err.Error(), "set GOWORK=off") {
			t.Errorf("%v", err)
		}
	})
}

// Old copies go, but for those that were used last, or not long ago.
func TestCopiesAreBounded(t *testing.T) {
	cache := t.TempDir()
	folder := func(name string, used time.Time) {
		if err := os.Mkdir(filepath.Join(cache, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(cache, name), used, used); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	for i := range copiesMax + 5 {
		folder(fmt.Sprintf("old%d", i), now.Add(-time.Duration(i+2)*time.Hour))
	}
	for i := range 3 {
		folder(fmt.Sprintf("used%d", i), now)
	}
	folder("new-1", now.Add(-2*inUse))
	folder("new-2", now)
	if err := prune(cache); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, e := range entries {
		left[e.Name()] = true
	}
	if len(left) != copiesMax || !left["used2"] || !left["new-2"] || left["new-1"] || !left[fmt.Sprintf("old%d", copiesMax-5)] {
		t.Errorf("%d are left: %v", len(left), left)
	}
}
