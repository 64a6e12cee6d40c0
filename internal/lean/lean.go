// Package lean keeps what only the command line needs from being set up in drivers: a world starts this program as driver and
// as prober in each run, and most of what such a process did was to compile the JSON schemas of Compose files, the
// expressions of image names and the tables of keys, and to register the metrics of the query engine of Prometheus.
package lean

import (
	"os"
	_ "unsafe" // for go:linkname
)

// A task stands for all initialisers of a package: what the linker makes of them (cmd/link/internal/ld/inittask.go), and the
// runtime goes through when a program starts (doInit1 of runtime/proc.go). It leaves out those that are done.
type task struct{ state, functions uint32 }

const done = 2

var (
	//go:linkname schemas github.com/santhosh-tekuri/jsonschema/v6..inittask
	schemas task
	//go:linkname references github.com/distribution/reference..inittask
	references task
	//go:linkname digests github.com/opencontainers/go-digest..inittask
	digests task
	//go:linkname templates github.com/compose-spec/compose-go/v2/template..inittask
	templates task
	//go:linkname builtins github.com/expr-lang/expr/builtin..inittask
	builtins task
	//go:linkname images github.com/google/go-containerregistry/pkg/name..inittask
	images task
	//go:linkname keys github.com/bloodhound-dst/bloodhound/internal/config/keys..inittask
	keys task
	//go:linkname reports github.com/bloodhound-dst/bloodhound/internal/report..inittask
	reports task
	//go:linkname calls github.com/bloodhound-dst/bloodhound/internal/engine/native/linux..inittask
	calls task
	//go:linkname engines github.com/bloodhound-dst/bloodhound/internal/engine/native..inittask
	engines task
	//go:linkname records github.com/bloodhound-dst/bloodhound/internal/records..inittask
	records task
	//go:linkname redis github.com/bloodhound-dst/bloodhound/internal/store/redis..inittask
	redis task
	//go:linkname postgres github.com/bloodhound-dst/bloodhound/internal/store/postgres..inittask
	postgres task
	//go:linkname debuggers github.com/bloodhound-dst/bloodhound/internal/debug..inittask
	debuggers task
	//go:linkname dashboards github.com/bloodhound-dst/bloodhound/internal/dashboard..inittask
	dashboards task
	//go:linkname metrics github.com/prometheus/client_golang/prometheus..inittask
	metrics task
	//go:linkname processes github.com/prometheus/procfs..inittask
	processes task
	//go:linkname annotations github.com/prometheus/prometheus/template..inittask
	annotations task
	//go:linkname queries github.com/prometheus/prometheus/promql/parser..inittask
	queries task
	//go:linkname documents go.yaml.in/yaml/v2..inittask
	documents task
)

// Packages are set up in the order of their paths, as far as their imports are: this one, which imports little, comes before
// those above. The programs of package selftest are drivers, too, and import more.
func init() {
	guest := os.Getpid() == 1 && os.Args[0] == "/init" // of a virtual machine
	if !guest && (len(os.Args) != 3 || os.Args[1] != "driver" || os.Args[2] == "selftest") {
		return
	}
	for _, t := range []*task{&schemas, &references, &digests, &templates, &builtins, &images, &keys, &reports, &calls, &engines,
		&records, &redis, &postgres, &debuggers, &dashboards, &metrics, &processes, &annotations, &queries, &documents} {
		t.state = done
	}
}
