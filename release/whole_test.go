package main

import (
	"archive/tar"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// soak skips a test that compiles whole programs.
func soak(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("all programs are compiled, which takes minutes: BLOODHOUND_SOAK=1")
	}
}

// call runs a command in a folder, with more variables, and returns what it prints. It may end with one of some codes.
func call(t *testing.T, dir string, env []string, codes []int, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	for _, c := range codes {
		if c == code {
			return string(out)
		}
	}
	t.Fatalf("%s %v ended with exit code %d, not %v\n%s", name, args, code, codes, out)
	return ""
}

var (
	succeeds = []int{0}
	// noGo are the variables of a machine that has no Go.
	noGo = []string{"PATH=/usr/bin:/bin", "BLOODHOUND_AS_ROOT=1"}
)

// Two releases of the commit that is checked out, from two folders and without a common cache, are equal. What they consist of is for the system that
// it is named for, and runs where it is for this one.
func TestWhole(t *testing.T) {
	soak(t)
	dir := t.TempDir()
	var outs []string
	for _, name := range []string{"one", "deeper/two"} {
		tree, out := filepath.Join(dir, name), filepath.Join(dir, "dist-"+filepath.Base(name))
		call(t, ".", nil, succeeds, "git", "clone", "-q", "..", tree)
		call(t, tree, []string{"GOCACHE=" + filepath.Join(dir, "cache-"+filepath.Base(name)), "SOURCE_DATE_EPOCH="}, succeeds,
			"go", "run", "./release", "-o", out)
		outs = append(outs, out)
	}
	call(t, dir, nil, succeeds, "diff", "--recursive", outs[0], outs[1])
	t.Log(call(t, outs[0], nil, succeeds, "sha256sum", "--check", "--strict", sumsName))
	s, err := checkout(filepath.Join(dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	named := func(x target) string {
		return fmt.Sprintf("bloodhound %s (commit %s, %s %s)\n", s.version, s.commit, runtime.Version(), x)
	}
	name := func(x target) string { return fmt.Sprintf("bloodhound-%s-%s-%s", s.version, x.os, x.arch) }
	for _, x := range targets {
		top := filepath.Join(unpack(t, filepath.Join(outs[0], name(x)+".tar.gz")), name(x))
		program := filepath.Join(top, "bloodhound")
		if err := isFor(program, x); err != nil {
			t.Errorf("%s: %v", x, err)
		}
		if x == (target{"linux", "arm64"}) && runtime.GOARCH == "amd64" && needs.Has("qemu-aarch64") {
			if out := call(t, top, noGo, succeeds, "qemu-aarch64", program, "--version"); out != named(x) {
				t.Errorf("%s: --version: %s", x, out)
			}
			if out := call(t, top, noGo, []int{3}, "qemu-aarch64", program, "doctor"); !strings.Contains(out, "ok       engine inproc") {
				t.Errorf("%s: doctor: %s", x, out)
			}
		}
		if x != (target{"linux", "amd64"}) || runtime.GOARCH != "amd64" {
			continue
		}
		if out := call(t, top, noGo, succeeds, program, "--version"); out != named(x) {
			t.Errorf("%s: --version: %s", x, out)
		}
		live := strings.Replace(named(x), "bloodhound ", "bloodhound-live ", 1)
		if out := call(t, top, noGo, succeeds, program, "live", "--version"); out != live {
			t.Errorf("%s: live --version: %s", x, out)
		}
		if out := call(t, top, noGo, succeeds, program, "doctor"); !strings.Contains(out, "worlds can run here") {
			t.Errorf("%s: doctor: %s", x, out)
		}
		if out := call(t, top, noGo, []int{1}, program, "explore", "quickstart"); !strings.Contains(out, "violated: linearizable (safety)") {
			t.Errorf("%s: quickstart: %s", x, out)
		}
		inWorld(t, program, filepath.Join(outs[0], name(x)+"-image.tar"), strings.TrimSpace(named(x)))
	}
}

// unpack extracts an archive into a folder, and returns that.
func unpack(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, 0o777)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, content, h.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// isFor looks at the form of a program.
func isFor(path string, x target) error {
	if x.os == "darwin" {
		f, err := macho.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[x.arch]; f.Cpu != want || f.Type != macho.TypeExec {
			return fmt.Errorf("a Mach-O file of type %v for %v", f.Type, f.Cpu)
		}
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[x.arch]; f.Machine != want || f.Type != elf.ET_EXEC {
		return fmt.Errorf("an ELF file of type %v for %v", f.Type, f.Machine)
	}
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		return fmt.Errorf("it is linked with %v (%v)", libraries, err)
	}
	return nil
}

// inWorld has a node of a world run the image.
func inWorld(t *testing.T, program, image, says string) {
	t.Helper()
	dir := t.TempDir()
	text := "simulation: {max_time: 5s}\nnodes:\n  hound: {image: \"docker-archive:" + image + "\", command: [--version], restart: \"no\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	// Nothing but crashes is judged, which is unknown.
	out := call(t, dir, append(noGo, "BLOODHOUND_IMAGES="+filepath.Join(dir, "store")), []int{5}, program, "run", "--logs")
	if !strings.Contains(out, says) || !strings.Contains(out, "ended by itself with exit code 0") || !strings.Contains(out, ", reproducible") {
		t.Errorf("the image in a world: %s", out)
	}
}

// serve puts a module into the folder of a proxy.
func serve(t *testing.T, proxy string, m module.Version, from string) {
	t.Helper()
	dir := filepath.Join(proxy, m.Path, "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"list": m.Version + "\n", m.Version + ".info": `{"Version":"` + m.Version + `"}`, m.Version + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	zip, err := os.Create(filepath.Join(dir, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(modzip.CreateFromDir(zip, m, from), zip.Close()); err != nil {
		t.Fatal(err)
	}
}

// `go install MODULE@latest` of a proxy that has this commit.
func TestGoInstall(t *testing.T) {
	soak(t)
	const version = "v0.1.0"
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	call(t, ".", nil, succeeds, "git", "clone", "-q", "..", tree)
	serve(t, filepath.Join(dir, "proxy"), module.Version{Path: modulePath, Version: version}, tree)
	serve(t, filepath.Join(dir, "proxy"), module.Version{Path: livePath, Version: version}, filepath.Join(tree, "live"))
	cache, err := goEnv(&source{root: ".."}, "GOMODCACHE")
	if err != nil {
		t.Fatal(err)
	}
	// The modules in the cache were verified by go.sum when they came, so no database of sums is asked.
	env := []string{"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(cache, "cache", "download"),
		"GOSUMDB=off", "GONOPROXY=none", "GOFLAGS=-modcacherw -trimpath",
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GOBIN=" + filepath.Join(dir, "bin"), "CGO_ENABLED=0"}
	call(t, dir, env, succeeds, "go", "install", modulePath+"/cmd/bloodhound@latest")
	call(t, dir, env, succeeds, "go", "install", livePath+"/cmd/bloodhound-live@latest")
	installed := filepath.Join(dir, "bin", "bloodhound")
	if out := call(t, dir, noGo, succeeds, installed, "live", "--version"); !strings.HasPrefix(out, "bloodhound-live "+version+" (") {
		t.Errorf("live --version: %s", out)
	}
	program := filepath.Join(dir, "bin", "bloodhound")
	if out, want := call(t, dir, noGo, succeeds, program, "--version"),
		fmt.Sprintf("bloodhound %s (module h1:", version); !strings.HasPrefix(out, want) || !strings.Contains(out, runtime.Version()) {
		t.Errorf("--version: %s; want %s...", out, want)
	}
	if runtime.GOARCH == "amd64" && runtime.GOOS == "linux" {
		if out := call(t, dir, noGo, succeeds, program, "doctor"); !strings.Contains(out, "worlds can run here") {
			t.Errorf("doctor: %s", out)
		}
	}
}
