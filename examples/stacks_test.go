package examples

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

var update = flag.Bool("update", false, "rewrite the configurations in docs/stacks.md")

// stack is a folder of examples/stacks.
type stack struct {
	name  string
	needs []string // programs, or patterns of their paths
	minOK int      // operations that succeed in the run of seed 1
	long  bool     // takes many seconds: runs with BLOODHOUND_SOAK=1
}

var stacks = []stack{
	{name: "etcd", needs: []string{"etcd"}, minOK: 100},
	{name: "redis-sentinel", needs: []string{"redis-server", "redis-sentinel"}, minOK: 100},
	{name: "postgres", needs: []string{"/usr/lib/postgresql/*/bin/postgres", "pg_isready"}, minOK: 100, long: true},
	{name: "mariadb", needs: []string{"/usr/sbin/mariadbd", "mariadb-install-db", "mariadb"}, minOK: 100, long: true},
	{name: "nginx-go", needs: []string{"/usr/sbin/nginx"}, minOK: 100},
	{name: "mosquitto", needs: []string{"/usr/sbin/mosquitto", "mosquitto_pub", "mosquitto_sub", "/usr/bin/python3"}, minOK: 40},
	{name: "memcached-python", needs: []string{"memcached", "/usr/bin/python3"}, minOK: 100},
	{name: "node-redis", needs: []string{"node", "redis-server"}, minOK: 60},
	{name: "java-postgres", needs: []string{"java", "javac", "/usr/share/java/postgresql.jar", "/usr/lib/postgresql/*/bin/postgres"}, minOK: 40, long: true},
	{name: "haproxy-etcd", needs: []string{"/usr/sbin/haproxy", "etcd"}, minOK: 60},
}

// Each stack runs, does its work, holds and repeats.
func TestStacksRun(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	program := bloodhound(t)
	for _, s := range stacks {
		t.Run(s.name, func(t *testing.T) {
			if s.long && os.Getenv("BLOODHOUND_SOAK") == "" {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			for _, need := range s.needs {
				if found, _ := filepath.Glob(need); len(found) == 0 {
					needs.Program(t, need)
				}
			}
			out, code := call(t, program, "run", filepath.Join("stacks", s.name), "--json")
			var document struct {
				Run struct {
					Operations struct{ OK int }
					Repeat     struct{ Reproducible bool }
				}
			}
			if err := json.Unmarshal(out, &document); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			if document.Run.Operations.OK < s.minOK || !document.Run.Repeat.Reproducible {
				t.Errorf("%+v, want at least %d operations that are ok, in a run that repeats", document.Run, s.minOK)
			}
		})
	}
}

// docs/stacks.md shows the configuration of each stack as it is.
func TestStacksAreDocumented(t *testing.T) {
	const name = "../docs/stacks.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```yaml (\\S+)/bloodhound.yaml\n(.*?)^```\n")
	shown := map[string]bool{}
	current := block.ReplaceAllStringFunc(string(page), func(text string) string {
		stack := block.FindStringSubmatch(text)[1]
		shown[stack] = true
		config, err := os.ReadFile(filepath.Join("stacks", stack, "bloodhound.yaml"))
		if err != nil {
			t.Error(err)
			return text
		}
		return "```yaml " + stack + "/bloodhound.yaml\n" + strings.TrimSpace(string(config)) + "\n```\n"
	})
	for _, s := range stacks {
		if !shown[s.name] {
			t.Errorf("%s does not show stacks/%s/bloodhound.yaml", name, s.name)
		}
	}
	folders, err := os.ReadDir("stacks")
	if err != nil || len(folders) != len(stacks) {
		t.Errorf("%d folders in stacks, and %d stacks are tested: %v", len(folders), len(stacks), err)
	}
	if current == string(page) {
		return
	}
	if !*update {
		t.Errorf("%s does not show the configurations as they are; rewrite them with -update", name)
	} else if err := os.WriteFile(name, []byte(current), 0o666); err != nil {
		t.Fatal(err)
	}
}
