package vm

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// stack copies a Compose stack of testdata to a folder of its own, with images in a folder beside it, and gives the folder.
func stack(t *testing.T, name string, images map[string]v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	for image, content := range images {
		imagetest.Layout(t, filepath.Join(dir, "images", image), content)
	}
	t.Setenv("BLOODHOUND_IMAGES", filepath.Join(dir, "store"))
	t.Setenv("IMAGES", "oci:"+filepath.Join(dir, "images"))
	t.Setenv("COMPOSE_PROJECT_NAME", "stack") // containers have names made of this value
	if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// What services of images find in this engine is what they find in the native one: users, working directories, variables, limits, settings of the
// kernel, volumes and what they begin with, secrets, names, and bounds of memory and processes. A healthcheck may start while its node is paused.
//
//ci:series
func TestServicesFindTheSame(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("compares three engines over many files: BLOODHOUND_SOAK=1")
	}
	self := program(t).Driver
	r := imagetest.Shell(t)
	for _, p := range []string{"env", "hostname", "sort", "head", "wc", "getent", "test", "grep"} {
		r.Program(p)
	}
	r.User("ada", "1000")
	r.Folder("/run", 0o755, 0)
	r.Link("/var/run", "/run")
	r.Link("/var/tmp", "/tmp")
	r.Folder("/kept", 0o750, 1000)
	r.Text("/kept/file", 0o600, "of the image\n")
	r.Text("/kept2/file", 0o600, "of the image\n")
	r.Text("/lent/file", 0o644, "of the lender's image\n")
	dir := stack(t, "facts", map[string]v1.Image{"shell": r.Image(v1.Config{Cmd: []string{"sh"}, Env: []string{imagetest.Path}})})
	line := regexp.MustCompile(`(?m)^ +[0-9.]+s  (.*)$`)
	differing := regexp.MustCompile(`process \d+ \(\w+\)|facts.sh: \d+: `) // numbers and names of processes
	find := func(engine string) map[string]bool {
		out, _ := exec.Command(self, "run", "--logs", "--engine", engine, dir).Output() // which finds the programs that fail on purpose
		text, report, ended := strings.Cut(string(out), "\nrun of seed 1: finished")
		if !ended || !strings.Contains(report, "pause 1/1/1\n") {
			t.Fatalf("the engine %s: %s", engine, out)
		}
		found := map[string]bool{}
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			found[strings.Join(strings.Fields(differing.ReplaceAllString(m[1], "")), " ")] = true
		}
		return found
	}
	native, own := find("native"), find("vm")
	delete(native, "rich LD_BIND_NOW=1") // which this engine does not need
	if len(native) < 60 || !native["rich the script ends"] || !native["hungry the child ended by 137"] {
		t.Errorf("the native engine: %d lines: %q", len(native), slices.Sorted(maps.Keys(native)))
	}
	for text := range native {
		if !own[text] {
			t.Errorf("the engine vm lacks %q", text)
		}
	}
	for text := range own {
		if !native[text] {
			t.Errorf("only the engine vm has %q", text)
		}
	}
}

// A cluster of etcd, and a Compose stack of PostgreSQL, a JVM and node.js, run in one virtual machine each: ten times the same, and ten times
// while something else keeps all CPUs busy. BLOODHOUND_SOAK_RUNS is another number than ten.
func TestStacksRepeat(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("BLOODHOUND_SOAK is not set")
	}
	runs := 10
	if n, err := strconv.Atoi(os.Getenv("BLOODHOUND_SOAK_RUNS")); err == nil {
		runs = n
	}
	self := program(t).Driver
	for name, folder := range map[string]func(t *testing.T) string{"etcd": etcdFolder, "shop": shopFolder} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			hash := map[string]string{}
			for _, how := range []string{"idle", "under load"} {
				t.Run(how, func(t *testing.T) {
					if how == "under load" {
						keepBusy(t)
					}
					var verified struct{ Hash, Judgement string }
					out, err := exec.Command(self, "verify", "--json", "--engine", "vm", "--runs", strconv.Itoa(runs), dir).Output()
					if json.Unmarshal(out, &verified); err != nil || verified.Hash == "" {
						t.Fatalf("%v: %s\n%s", err, verified.Judgement, out)
					}
					t.Logf("%d runs: trace hash %s", runs, verified.Hash)
					hash[verified.Hash] = how
				})
			}
			if len(hash) != 1 {
				t.Errorf("trace hashes %v", hash)
			}
			var d struct {
				Run struct {
					Hash       string
					Operations struct{ OK int }
				}
			}
			out, err := exec.Command(self, "run", "--json", "--engine", "vm", dir).Output()
			if json.Unmarshal(out, &d); err != nil || hash[d.Run.Hash] == "" || d.Run.Operations.OK < 25 {
				t.Errorf("%v: a run of hash %s with %d operations, of other ones with %v", err, d.Run.Hash, d.Run.Operations.OK, hash)
			}
		})
	}
}

func etcdFolder(t *testing.T) string {
	needs.Program(t, "etcd")
	dir := t.TempDir()
	const examples = "../../../examples"
	build := exec.Command("go", "build", "-o", filepath.Join(dir, ".bloodhound/bin/driver"), "./driver")
	build.Dir = filepath.Join(examples, "servers")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(examples, "etcd/bloodhound.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const driver = "    build: {command: go build -o ../../etcd/.bloodhound/bin/driver ., dir: ../servers/driver}\n"
	if !strings.Contains(string(text), driver) {
		t.Fatalf("the example does not say %q", driver)
	}
	if err := os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), []byte(strings.Replace(string(text), driver, "", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func shopFolder(t *testing.T) string {
	needs.Program(t, "javac")
	needs.Program(t, "node")
	images := map[string]v1.Image{}
	for _, name := range []string{"postgres", "jvm", "nodejs"} {
		images[name] = imagetest.Stacks[name](t)
	}
	driver, err := os.ReadFile("/usr/share/java/postgresql.jar")
	if err != nil {
		needs.Missing(t, "libpostgresql-jdbc-java", err)
	}
	dir := stack(t, "shop", images)
	if out, err := exec.Command("javac", "-d", filepath.Join(dir, "classes"), filepath.Join(dir, "Store.java")).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "classes/postgresql.jar"), driver, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// keepBusy loads every CPU until the test is over.
func keepBusy(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	for range runtime.NumCPU() {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
}
