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
	"slices"
	"strings"
	"testing"

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
		if out := call(t, top, noGo, succeeds, program, "doctor"); !strings.Contains(out, "This machine is ready") {
			t.Errorf("%s: doctor: %s", x, out)
		}
		if out := call(t, top, noGo, []int{1}, program, "explore", "quickstart"); !strings.Contains(out, "violated: linearizable (safety)") {
			t.Errorf("%s: quickstart: %s", x, out)
		}
		inWorld(t, program, filepath.Join(outs[0], name(x)+"-image.tar"), strings.TrimSpace(named(x)), strings.TrimSpace(live))
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

// inWorld runs the image as two nodes of a world, and reads what bloodhound and bloodhound-live say of themselves.
func inWorld(t *testing.T, program, image string, says ...string) {
	t.Helper()
	dir := t.TempDir()
	text := "simulation: {max_time: 5s}\nnodes:\n"
	for name, command := range map[string]string{"hound": "--version", "live": "live, --version"} {
		text += fmt.Sprintf("  %s: {image: %q, command: [%s], restart: \"no\"}\n", name, "docker-archive:"+image, command)
	}
	if err := os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	// Nothing but crashes is judged, which is unknown.
	out := call(t, dir, append(noGo, "BLOODHOUND_IMAGES="+filepath.Join(dir, "store")), []int{5}, program, "run", "--logs")
	missing := slices.DeleteFunc(says, func(line string) bool { return strings.Contains(out, line) })
	if len(missing) > 0 || !strings.Contains(out, "ended by itself with exit code 0") || !strings.Contains(out, ", reproducible") {
		t.Errorf("the image in a world, without %q: %s", missing, out)
	}
}

// releaseOf is the version that the modules require of each other.
func releaseOf(t *testing.T, src *source) string {
	t.Helper()
	live, err := src.readMod("live")
	if err != nil {
		t.Fatal(err)
	}
	return requirement(live, modulePath)
}

// proxied returns the variables with which the go command takes our modules from the proxy in a folder, and others from this machine's
// cache if they are there. go.sum verified these when they were downloaded, so no database of sums is asked. Nothing is added to that cache.
func proxied(t *testing.T, dir string) []string {
	t.Helper()
	src := &source{root: ".."}
	cache, err := goEnv(src, "GOMODCACHE")
	others, err2 := goEnv(src, "GOPROXY")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return []string{"GOPROXY=file://" + filepath.Join(dir, proxyFolder) + ",file://" + filepath.Join(cache, "cache", "download") + "," + others,
		"GOSUMDB=off", "GONOPROXY=none", "GOFLAGS=-modcacherw -trimpath", "GOWORK=off", "GOMODCACHE=" + filepath.Join(dir, "modules"), "CGO_ENABLED=0"}
}

// usable are the packages of each released module that a program imports in TestReleasesInOrder.
var usable = map[string][]string{
	".":              {"/check", "/history", "/sim", "/sdk", "/tla"},
	"live":           {""},
	"drivers":        {"/cmd/bloodhound-drivers"},
	"sdk/grpcfault":  {"", "/grpccount"},
	"sdk/redisfault": {"", "/rediscount"},
}

// A new module can use each module once it is released and those before it in the order of releases, and no other. When all are released,
// copied folders of examples are built, some without the lines of their go.mod that name this checkout (examples/README.md).
func TestReleasesInOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages")
	}
	if _, err := git("..", "rev-parse", "HEAD"); err != nil {
		t.Skip("the files of a release are those of git, which has none here")
	}
	dir := t.TempDir()
	src := &source{root: ".."}
	// Sums of a release cannot be in go.sum before there is one.
	version, env := releaseOf(t, src), append(proxied(t, dir), "GOFLAGS=-modcacherw -trimpath -mod=mod")
	for _, folder := range released {
		if len(usable[folder]) == 0 {
			t.Fatalf("usable has no packages of %s, so nothing would be built", folder)
		}
		if err := src.writeProxy(filepath.Join(dir, proxyFolder), []string{folder}); err != nil {
			t.Fatal(err)
		}
		user := filepath.Join(dir, "user", folder)
		if err := os.MkdirAll(user, 0o777); err != nil {
			t.Fatal(err)
		}
		call(t, user, env, succeeds, "go", "mod", "init", "example.com/user")
		call(t, user, env, succeeds, "go", "mod", "edit", "-require="+modulePathIn(folder)+"@"+version)
		build := []string{"build"}
		for _, room := range usable[folder] {
			build = append(build, modulePathIn(folder)+room)
		}
		call(t, user, env, succeeds, "go", build...)
	}
	ofCheckout := []string{"mod", "edit", "-dropreplace=" + modulePath, "-dropreplace=" + livePath}
	for name, commands := range map[string][][]string{
		"inprocess/bank": {{"test", "-run", "^TestBank$", ".", "-sim.runs=10"}},
		"quickstart":     {{"build", "-o", filepath.Join(dir, "kv"), "./kv"}},
		"servers":        {{"build", "./..."}},
		"live":           {ofCheckout, {"build", "-o", filepath.Join(dir, "live-kv"), "./kv"}},
		"handlers/dns":   {ofCheckout, {"vet", "."}},
		"handlers/raft":  {ofCheckout, {"vet", "."}},
	} {
		copied := filepath.Join(dir, name)
		if err := os.CopyFS(copied, os.DirFS(filepath.Join("..", "examples", name))); err != nil {
			t.Fatal(err)
		}
		for _, command := range commands {
			call(t, copied, env, succeeds, "go", command...)
		}
	}
}

// `go install MODULE@latest` of a proxy that has this commit.
func TestGoInstall(t *testing.T) {
	soak(t)
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	call(t, ".", nil, succeeds, "git", "clone", "-q", "..", tree)
	src := &source{root: tree}
	if err := src.writeProxy(filepath.Join(dir, "proxy"), released); err != nil {
		t.Fatal(err)
	}
	version := releaseOf(t, src)
	env := append(proxied(t, dir), "GOBIN="+filepath.Join(dir, "bin"))
	call(t, dir, env, succeeds, "go", "install", modulePath+"/cmd/bloodhound@latest")
	call(t, dir, env, succeeds, "go", "install", livePath+"/cmd/bloodhound-live@latest")
	call(t, dir, env, succeeds, "go", "install", driversPath+"/cmd/bloodhound-drivers@latest")
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
		if out := call(t, dir, noGo, succeeds, program, "doctor"); !strings.Contains(out, "This machine is ready") {
			t.Errorf("doctor: %s", out)
		}
	}
}
