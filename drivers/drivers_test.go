//go:build linux && amd64

package drivers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
)

// world is a world of testdata with a real server and the driver of its protocol.
type world struct {
	name  string
	needs []string
	minOK int  // operations that must be ok in each run
	long  bool // it takes too long for an ordinary test run
	// unproven says that the engine cannot prove that runs repeat, with the reason. They are compared all the same.
	unproven string
}

var worlds = []world{
	{name: "nats", needs: []string{"nats-server"}, minOK: 300},
	{name: "nats-core", needs: []string{"nats-server"}, minOK: 150},
	{name: "mqtt", needs: []string{"mosquitto"}, minOK: 250},
	{name: "memcached", needs: []string{"memcached"}, minOK: 180},
	{name: "zookeeper", needs: []string{"java", "/usr/share/java/zookeeper.jar"}, minOK: 180},
	{name: "kafka", minOK: 200},
	{name: "amqp", needs: []string{"/usr/lib/rabbitmq/bin/rabbitmq-server"}, minOK: 180, long: true,
		unproven: "Erlang's compiler writes bytes that look like xsaveopt"},
}

// bloodhound is the program under test, with bloodhound-drivers beside it.
var bloodhound string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bloodhound-drivers-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bloodhound = filepath.Join(dir, "bloodhound")
		for _, args := range [][]string{{"-C", ".."}, nil} {
			pkg := "./cmd/bloodhound-drivers"
			if args != nil {
				pkg = "./cmd/bloodhound"
			}
			cmd := exec.Command("go", append(args, "build", "-buildvcs=false", "-o", dir+"/", pkg)...)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "go build %s: %v\n%s", pkg, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// document is a part of what `run --json` prints.
type document struct {
	Judgement string `json:"judgement"`
	Run       struct {
		Hash   string `json:"hash"`
		Repeat struct {
			Reproducible bool   `json:"reproducible"`
			Reason       string `json:"reason"`
		} `json:"repeat"`
		Operations struct {
			OK int `json:"ok"`
		} `json:"operations"`
		Verdicts []struct {
			Property string `json:"property"`
			Status   string `json:"status"`
			Reason   string `json:"reason"`
		} `json:"verdicts"`
	} `json:"run"`
}

// run makes one run of a world.
func run(t *testing.T, dir string) (d document) {
	t.Helper()
	cmd := exec.Command(bloodhound, "run", "--json", "--seed", "1", dir)
	cmd.Env = append(os.Environ(), "BLOODHOUND_AS_ROOT=1", "BLOODHOUND_STATE="+t.TempDir())
	out, err := cmd.Output()
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("no document: %v\n%s", err, out)
	}
	if d.Run.Hash == "" {
		t.Fatalf("no run: %v\n%s", err, out)
	}
	return d
}

// Each driver performs its operations on a real server in a world with partitions, all properties hold, and one seed gives the same trace each
// time.
func TestWorldsRepeat(t *testing.T) {
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			if w.long && !soak {
				t.Skip("takes minutes; set BLOODHOUND_SOAK")
			}
			for _, program := range w.needs {
				if filepath.IsAbs(program) {
					if _, err := os.Stat(program); err != nil {
						needs.Missing(t, program, err)
					}
					continue
				}
				needs.Program(t, program)
			}
			runs := 2
			if soak {
				runs = 10
			}
			dir := filepath.Join("testdata", w.name)
			first := run(t, dir)
			for range runs - 1 {
				if again := run(t, dir); again.Run.Hash != first.Run.Hash {
					t.Fatalf("trace hashes %s and %s", first.Run.Hash, again.Run.Hash)
				}
			}
			if first.Run.Operations.OK < w.minOK {
				t.Errorf("%d operations were ok, want %d", first.Run.Operations.OK, w.minOK)
			}
			if !first.Run.Repeat.Reproducible && w.unproven == "" {
				t.Errorf("not reproducible: %s", first.Run.Repeat.Reason)
			}
			for _, v := range first.Run.Verdicts {
				if v.Status != "holds" {
					t.Errorf("%s is %s: %s", v.Property, v.Status, v.Reason)
				}
			}
		})
	}
}

// Every driver that the facts promise is linked, and no other.
func TestProtocolsMatchFacts(t *testing.T) {
	protocols := Protocols()
	for _, k := range kinds.All {
		if k.Field != (protocols[k.Name] != nil) {
			t.Errorf("%s: field %v, linked %v", k.Name, k.Field, protocols[k.Name] != nil)
		}
	}
	for name := range protocols {
		if !slices.ContainsFunc(kinds.All, func(k kinds.Kind) bool { return k.Name == name }) {
			t.Errorf("%s has no facts", name)
		}
	}
}
