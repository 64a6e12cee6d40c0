package lint

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/bloodhound-dst/bloodhound/"

// layers lists all packages from the bottom up, each with the rooms below it that have no line of their own. A package imports
// only what is in an earlier line than its own. One that is not here fails the test.
var layers = [][]string{
	{"internal/strictjson", "internal/values", "internal/plural", "internal/failure", "internal/exitcode", "internal/printable", "internal/testkit/steplog",
		"internal/testkit/marked"},
	{"internal/testkit/needs", "internal/regular", "internal/ownfolder", "sdk/machine", "sdk/internal/counts", "sdk/redisfault/internal/redisclient",
		"sdk/internal/routes", "sdk/internal/sqlcalls", "sdk/grpcfault/internal/methods"},
	// What counts in production is below sdk, which imports package testing.
	{"sdk/httpcount", "sdk/sqlcount", "sdk/redisfault/rediscount", "sdk/grpcfault/grpccount"},
	{"internal/splitmix", "internal/chart", "internal/lazyregexp", "internal/filedigest", "internal/filetree", "internal/engine/listening", "internal/cpus",
		"internal/clone", "internal/group", "internal/config/shell", "internal/testkit/imagetest", "internal/debug/rsp",
		"internal/debug/variable"},
	{"internal/tape", "internal/image", "internal/store"},
	{"tla/value", "internal/tla/syntax", "internal/testkit/storetest"},
	{"internal/tla/failure", "internal/tla/config", "internal/tla/library", "internal/tla/ndjson", "internal/tla/cells",
		"internal/tla/symmetry", "internal/tla/visited"},
	{"internal/tla/scope", "internal/tla/liveness"},
	{"internal/tla/eval"},
	{"tla"},
	{"internal/records"},
	{"history"},
	{"docs"},
	{"internal/world", "internal/formats", "internal/sdk", "internal/coverage", "internal/moments"},
	{"internal/fault", "sdk"},
	{"internal/explore/search"},
	{"sdk/sqlfault", "sdk/httpfault", "sdk/grpcfault", "sdk/redisfault", "sdk/machinefault", "sdk/contract"},
	{"internal/model", "internal/alerts", "internal/incident"},
	{"internal/record"},
	// What judges histories knows nothing of runs.
	{"internal/check/linear", "internal/check/verdict", "internal/testkit/historytest"},
	{"internal/check/isolation"},
	{"internal/check/histories"},
	{"internal/engine"},
	{"internal/engine/director", "internal/loglines"},
	{"internal/engine/inprocess", "internal/engine/vm/wire"},
	{"internal/engine/vm/guest"},
	// The rooms of the container engine: the daemon, and what runs in its containers.
	{"internal/engine/container/docker", "internal/engine/container/hand"},
	// The rooms of the native engine: what kernel and machine share, with state machines of their own; the real machine, which what is
	// pure must not import; the core of the kernel; calls, kinds of open files, /proc and /sys.
	{"internal/engine/native/errno"},
	{"internal/engine/native/machine", "internal/engine/native/dump", "internal/engine/native/fs", "internal/engine/native/net"},
	{"internal/engine/native/host"},
	{"internal/engine/native/kernel"},
	{"internal/engine/native/linux"},
	{"internal/testkit/enginetest", "internal/engine/native", "internal/engine/container", "internal/engine/vm", "sim/inproc",
		"internal/check", "internal/workload", "internal/selftest/roles"},
	{"internal/selftest", "internal/explore/search"},
	{"internal/runner", "internal/view", "internal/pcapng", "internal/sweep", "check"},
	{"internal/debug", "sdk/truth"},
	{"internal/config/suggest", "internal/config/scaffolding"},
	{"internal/config/source", "internal/program"},
	{"internal/driver/driverfile"},
	{"internal/driver"},
	{"internal/config/schema"},
	{"internal/config/keys"},
	{"internal/config/compose", "internal/config/load"},
	{"internal/config/images", "internal/config/volumes", "internal/config/networks", "internal/config/workloads", "internal/config/checks"},
	{"internal/config/nodes", "internal/config/faults"},
	{"internal/config"},
	{"internal/shrink", "internal/cause", "sim/fake"},
	{"internal/explore"},
	{"internal/report", "internal/fleet", "internal/explore/sweeping"},
	{"internal/dashboard", "internal/testkit/dashboardtest"},
	{"sim"},
	{"internal/testkit/processes"},
	// The command line: what verbs share, then the verbs by groups, which do not import each other, and the tree.
	{"internal/cli/flags"},
	{"internal/cli/console"},
	{"internal/cli/database"},
	{"internal/cli/project"},
	{"internal/cli/stored"},
	{"internal/cli/history", "internal/cli/model", "internal/cli/image", "internal/cli/debug", "internal/cli/setup",
		"internal/cli/fleet", "internal/cli/failures", "internal/cli/campaign"},
	{"internal/cli"},
	{"cmd/bloodhound", "cmd/bloodhound-driver"},
	{"bench", "deploy", "internal/lint", "release"},
	// The module live.
	{"live/internal/bv", "live/internal/checkpoint", "live/internal/daemon", "live/internal/modules"},
	{"live/internal/shadow", "live/internal/bgp"},
	{"live/internal/rewrite", "live/internal/search", "live/internal/attach", "live/internal/router", "live/internal/birdtest",
		"live/internal/config"},
	{"live/internal/federation", "live/internal/online"},
	{"live"},
	{"live/internal/cli"},
	{"live/cmd/bloodhound-live"},
	// The module drivers.
	{"drivers/internal/wire"},
	{"drivers/internal/amqp", "drivers/internal/kafka", "drivers/internal/memcached", "drivers/internal/mqtt", "drivers/internal/nats",
		"drivers/internal/s3", "drivers/internal/zookeeper"},
	{"drivers"},
	{"drivers/cmd/bloodhound-drivers", "drivers/internal/kafka/broker"},
}

// forLive are the packages of the module of the root that the module live may import: none of engines, searches and reports.
var forLive = []string{"internal/plural", "internal/splitmix", "internal/exitcode", "internal/printable", "internal/program",
	"internal/config/source", "internal/config/schema", "internal/config/keys", "internal/records", "internal/store",
	"internal/testkit/needs"}

// forDrivers are the packages of the module of the root that the module drivers may import: those of driver programs.
var forDrivers = []string{"history", "internal/world", "internal/workload", "internal/driver"}

// pure are the packages that decide and do not act: no goroutine, channel, clock or random number of their own.
var pure = []string{"internal/tape", "internal/world", "history", "internal/formats", "internal/sdk", "internal/coverage",
	"internal/moments", "internal/fault", "internal/record", "internal/check/verdict", "internal/loglines", "internal/engine/director",
	"internal/explore/search", "internal/sweep", "internal/records", "internal/splitmix", "internal/strictjson",
	"internal/values", "live/internal/bv", "live/internal/bgp", "internal/engine/native/machine", "internal/engine/native/dump",
	"internal/engine/native/errno", "internal/engine/native/net", "internal/engine/native/fs", "internal/engine/native/kernel", "internal/engine/native/linux"}

// acts are packages that pure ones must not import.
var acts = []string{"math/rand", "math/rand/v2", "crypto/rand", "os", "os/exec", "net", "sync", "sync/atomic", module + "internal/engine/native/host"}

// inert are the functions of golang.org/x/sys/unix and syscall that make no system call; types, which conversions name, are inert, too.
var inert = []string{"Major", "Minor", "Mkdev", "ErrnoName", "SignalName", "ByteSliceToString", "Errno", "Signal", "WaitStatus"}

// public are the packages that users import, each with the rooms below it.
var public = []string{"live", "sdk", "sim", "check", "history", "tla", "examples"}

// wrapped are the libraries that a public package wraps: who uses it has them, and its signatures name their types.
var wrapped = map[string][]string{
	"sdk/grpcfault":             {"google.golang.org/grpc", "google.golang.org/grpc/codes", "google.golang.org/grpc/status"},
	"sdk/grpcfault/grpccount":   {"google.golang.org/grpc", "google.golang.org/grpc/codes"},
	"sdk/redisfault":            {"github.com/redis/go-redis/v9"},
	"sdk/redisfault/rediscount": {"github.com/redis/go-redis/v9"},
}

// insiders are files of examples that import internal packages, each with the reason.
var insiders = map[string]string{
	"examples/inprocess/checkout/postgres_test.go": "starts a server of PostgreSQL",
	"examples/quickstart/kv/sim_test.go":           "computes how rare the bug is with the fault plans of its configuration, without the engine",
	"examples/quickstart/kv/risk_test.go":          "plants the bug with a known chance, and compares the bound of the risk with it",
	"examples/processes_test.go":                   "compares runs of one tape in separate processes",
	"examples/examples_test.go":                    "tests all examples by the command line",
	"examples/inprocess/raft/raft_test.go":         "compares the trace hashes of runs, and measures the engine",
	"examples/bgp/table/":                          "makes tables of routes, which are data for tests of this project",
	"examples/bgp/load/":                           "sends such tables to routers, and compares their filters with those that this project evaluates",
	"examples/bgp/load/explore/":                   "explores a router with them, and compares what is found with the oracle",
	"examples/inprocess/raft/follow_test.go":       "counts the states that runs reach in the specification",
}

type source struct {
	path string // from the root of the module
	pkg  string
	test bool
	file *ast.File
	fset *token.FileSet
}

func (s *source) placeOf(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// sources are all files of Go but those of examples.
func sources(t *testing.T) []*source {
	t.Helper()
	return sourcesIn(t, "", "examples")
}

// sourcesIn are the files of Go below a folder of the repository, without one folder.
func sourcesIn(t *testing.T, folder, without string) []*source {
	t.Helper()
	root := filepath.Join("..", "..")
	var list []*source
	err := filepath.WalkDir(filepath.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (base == "testdata" || base == without || strings.HasPrefix(base, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		list = append(list, &source{path: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"), file: f, fset: fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("only %d files of Go found", len(list))
	}
	return list
}

// home is the name in the layers that a package belongs to, the longest one, and its line, or -1.
func home(pkg string) (name string, line int) {
	line = -1
	for i, names := range layers {
		for _, n := range names {
			if len(n) > len(name) && (pkg == n || strings.HasPrefix(pkg, n+"/")) {
				name, line = n, i
			}
		}
	}
	return name, line
}

func imports(s *source) map[string]ast.Node {
	m := map[string]ast.Node{}
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		m[p] = spec
	}
	return m
}

// The module live is a product of its own: no other package imports it, which would make the modules require each other, and it links
// no engine.
func TestLiveIsItsOwnProduct(t *testing.T) {
	own := func(p string) bool { return p == "live" || strings.HasPrefix(p, "live/") }
	seen := 0
	for _, s := range append(sources(t), sourcesIn(t, "examples", "")...) {
		if nested(t, s.path) {
			continue
		}
		for p, node := range imports(s) {
			to, ok := strings.CutPrefix(p, module)
			switch {
			case !ok:
			case !own(s.pkg) && own(to):
				t.Errorf("%s: %s must not import %s, which is of the module live", s.placeOf(node), s.pkg, to)
			case own(s.pkg) && !own(to) && !s.test:
				seen++
				if !slices.ContainsFunc(forLive, func(name string) bool { return to == name || strings.HasPrefix(to, name+"/") }) {
					t.Errorf("%s: the module live must not import %s", s.placeOf(node), to)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no import of the module live was seen")
	}
}

// The module drivers is linked into a program of its own: no other package imports it, so that the core depends on none of its client libraries.
func TestDriversAreTheirOwnProgram(t *testing.T) {
	own := func(p string) bool { return p == "drivers" || strings.HasPrefix(p, "drivers/") }
	seen := 0
	for _, s := range append(sources(t), sourcesIn(t, "examples", "")...) {
		for p, node := range imports(s) {
			to, ok := strings.CutPrefix(p, module)
			switch {
			case !ok:
			case !own(s.pkg) && own(to):
				t.Errorf("%s: %s must not import %s, which is of the module drivers", s.placeOf(node), s.pkg, to)
			case own(s.pkg) && !own(to) && !s.test:
				seen++
				if !slices.ContainsFunc(forDrivers, func(name string) bool { return to == name || strings.HasPrefix(to, name+"/") }) {
					t.Errorf("%s: the module drivers must not import %s", s.placeOf(node), to)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no import of the module drivers was seen")
	}
}

// nested reports whether a file belongs to a module below those of the root, live, drivers, bench and examples.
func nested(t *testing.T, file string) bool {
	t.Helper()
	for dir := path.Dir(file); dir != "." && dir != "live" && dir != "drivers" && dir != "bench" && dir != "examples"; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(dir), "go.mod")); err == nil {
			return true
		}
	}
	return false
}

func TestImportsPointOneWay(t *testing.T) {
	for _, s := range sources(t) {
		house, from := home(s.pkg)
		if from < 0 {
			t.Errorf("%s: package %s has no line in the layers of internal/lint; enter it there", s.path, s.pkg)
			continue
		}
		if s.test {
			continue
		}
		for p, node := range imports(s) {
			to, ok := strings.CutPrefix(p, module)
			if !ok {
				continue
			}
			if other, line := home(to); line >= from && other != house {
				t.Errorf("%s: %s must not import %s, which is beside it or above it", s.placeOf(node), s.pkg, to)
			}
		}
	}
}

// dependencies asks go list for the dependencies of packages, each in a format of its templates.
func dependencies(t *testing.T, format string, packages ...string) []string {
	t.Helper()
	dir := filepath.Join("..", "..")
	if strings.HasPrefix(packages[0], "./live") { // a module of its own
		dir = filepath.Join(dir, "live")
		packages = []string{"." + strings.TrimPrefix(packages[0], "./live")}
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", format}, packages...)...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	return strings.Fields(string(out))
}

// What users import does not link the query engine of Prometheus: internal/alerts/prometheus belongs to programs that read configurations.
func TestUsersLinkNoQueryEngine(t *testing.T) {
	list := func(packages ...string) []string {
		t.Helper()
		return slices.DeleteFunc(dependencies(t, "{{.ImportPath}}", packages...),
			func(p string) bool { return !strings.HasPrefix(p, "github.com/prometheus/") })
	}
	var packages []string
	for _, name := range public {
		if name != "examples" && name != "live" {
			packages = append(packages, "./"+name+"/...")
		}
	}
	if linked := append(list(packages...), list("./live/...")...); len(linked) > 0 {
		t.Errorf("public packages depend on %s", strings.Join(linked, ", "))
	}
	if len(list("./internal/alerts/prometheus")) == 0 {
		t.Error("nor does internal/alerts/prometheus, so this test finds nothing")
	}
}

// linked lists the third-party modules that each public package brings into a user's program.
var linked = map[string][]string{
	"history":    nil,
	"sdk":        nil,
	"live":       nil,
	"check":      {"github.com/anishathalye/porcupine", "github.com/expr-lang/expr"},
	"sdk/truth":  {"github.com/anishathalye/porcupine", "github.com/expr-lang/expr"},
	"sim/inproc": {"github.com/expr-lang/expr", "github.com/ianlancetaylor/demangle"},
	"sim":        {"github.com/anishathalye/porcupine", "github.com/expr-lang/expr", "github.com/ianlancetaylor/demangle", "golang.org/x/sys"},
}

// Who judges histories links no judges of runs, of models and of alerts.
func TestUsersOfHistoriesLinkNoJudgesOfRuns(t *testing.T) {
	for _, p := range dependencies(t, "{{.ImportPath}}", "./check", "./sdk/truth") {
		if slices.Contains([]string{module + "internal/check", module + "internal/model", module + "internal/alerts"}, p) {
			t.Errorf("public packages that judge histories link %s", p)
		}
	}
}

// mostLinked bounds the packages outside the standard library that one public package brings along.
const mostLinked = 90

func TestUsersLinkFewModules(t *testing.T) {
	for public, want := range linked {
		modules := dependencies(t, "{{with .Module}}{{.Path}}{{end}}", "./"+public) // one for each package
		if len(modules) > mostLinked {
			t.Errorf("%s links %d packages, more than %d", public, len(modules), mostLinked)
		}
		slices.Sort(modules)
		modules = slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m+"/" == module || m+"/" == module+"live/" })
		if !slices.Equal(modules, want) {
			t.Errorf("%s links the modules %q, and should link %q", public, modules, want)
		}
	}
}

// Examples show what users can do.
func TestExamplesImportPublicPackages(t *testing.T) {
	for _, s := range sourcesIn(t, "examples", "") {
		inside := false
		for p, node := range imports(s) {
			to, ok := strings.CutPrefix(p, module)
			if !ok || s.test && to == "internal/testkit/needs" ||
				slices.ContainsFunc(public, func(name string) bool { return to == name || strings.HasPrefix(to, name+"/") }) {
				continue
			}
			inside = true
			if insiders[s.path] == "" && insiders[s.pkg+"/"] == "" {
				t.Errorf("%s: an example imports %s, which users cannot; use public packages, or name the reason in internal/lint", s.placeOf(node), to)
			}
		}
		if insiders[s.path] != "" && !inside {
			t.Errorf("%s imports no internal package; remove it from the insiders of internal/lint", s.path)
		}
	}
}

// Signatures that users call name only types of the standard library, of public packages, and internal types for which a public package has an alias. The
// same holds for the exported fields and methods of such internal types.
func TestPublicSignatures(t *testing.T) {
	all := sources(t)
	aliases := map[string]bool{} // internal types that have a public name: package, dot, name
	declared := map[string]bool{}
	for _, s := range all {
		foreign := foreigners(s)
		for _, spec := range types(s.file) {
			declared[s.pkg+"."+spec.Name.Name] = true
			if sel, ok := spec.Type.(*ast.SelectorExpr); ok && isPublic(s) && spec.Assign.IsValid() && spec.Name.IsExported() {
				if id, ok := sel.X.(*ast.Ident); ok && foreign[id.Name] != "" {
					aliases[strings.TrimPrefix(foreign[id.Name], module)+"."+sel.Sel.Name] = true
				}
			}
		}
	}
	for _, s := range all {
		if s.test {
			continue
		}
		offered := isPublic(s)
		foreign := foreigners(s)
		var check func(n ast.Node) bool
		check = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field: // its names are no types
				ast.Inspect(n.Type, check)
				return false
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok && foreign[id.Name] != "" && !aliases[strings.TrimPrefix(foreign[id.Name], module)+"."+n.Sel.Name] {
					t.Errorf("%s: an exported signature names %s of %s", s.placeOf(n), n.Sel.Name, foreign[id.Name])
				}
				return false
			case *ast.Ident:
				if name := s.pkg + "." + n.Name; !offered && declared[name] && !aliases[name] {
					t.Errorf("%s: a type that has a public alias names %s, which has none", s.placeOf(n), n.Name)
				}
			}
			return true
		}
		for _, n := range signatures(s.file, func(typ string) bool { return offered && ast.IsExported(typ) || aliases[s.pkg+"."+typ] }, offered) {
			ast.Inspect(n, check)
		}
	}
}

// isPublic reports whether users import a source's package. Examples are programs.
func isPublic(s *source) bool {
	return !s.test && slices.ContainsFunc(public, func(name string) bool {
		return name != "examples" && (s.pkg == name || name != "live" && strings.HasPrefix(s.pkg, name+"/"))
	})
}

// foreigners are the internal packages and dependencies that a file imports, by the name that the file knows each by.
func foreigners(s *source) map[string]string {
	foreign := map[string]string{}
	for p, node := range imports(s) {
		name := path.Base(p)
		if i := node.(*ast.ImportSpec); i.Name != nil {
			name = i.Name.Name
		}
		if slices.Contains(wrapped[s.pkg], p) {
			continue
		}
		if strings.HasPrefix(p, module+"internal/") || strings.HasPrefix(p, module+"live/internal/") ||
			!strings.HasPrefix(p, module) && strings.Contains(strings.SplitN(p, "/", 2)[0], ".") {
			foreign[name] = p
		}
	}
	return foreign
}

// types are the types that a file declares.
func types(f *ast.File) (list []*ast.TypeSpec) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					list = append(list, spec)
				}
			}
		}
	}
	return list
}

// signatures collects the types of a file's types that are asked for, such as those of exported fields and methods; and
// if free is true, those of its exported functions, variables and constants.
func signatures(f *ast.File, asked func(typ string) bool, free bool) (list []ast.Node) {
	for _, spec := range types(f) {
		st, ok := spec.Type.(*ast.StructType)
		switch {
		case !asked(spec.Name.Name):
		case !ok:
			list = append(list, spec.Type)
		default:
			for _, field := range st.Fields.List {
				if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
					list = append(list, field.Type)
				}
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil && free || d.Recv != nil && asked(receiver(d))) {
				list = append(list, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok && free && spec.Type != nil && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
					list = append(list, spec.Type)
				}
			}
		}
	}
	return list
}

func TestWhatDecidesDoesNotAct(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, s.pkg) {
			continue
		}
		for p, node := range imports(s) {
			if slices.Contains(acts, p) {
				t.Errorf("%s: %s is pure and must not import %s", s.placeOf(node), s.pkg, p)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a goroutine in a pure package", s.placeOf(x))
			case *ast.ChanType:
				t.Errorf("%s: a channel in a pure package", s.placeOf(x))
			case *ast.CallExpr:
				if f, ok := x.Fun.(*ast.SelectorExpr); ok {
					if id, ok := f.X.(*ast.Ident); ok && (id.Name == "unix" || id.Name == "syscall") && !slices.Contains(inert, f.Sel.Name) {
						t.Errorf("%s: the system call %s.%s in a pure package", s.placeOf(x), id.Name, f.Sel.Name)
					}
				}
			case *ast.SelectorExpr:
				if id, ok := x.X.(*ast.Ident); ok && id.Name == "time" &&
					slices.Contains([]string{"Now", "Since", "After", "Sleep", "NewTimer", "Tick"}, x.Sel.Name) {
					t.Errorf("%s: time.%s in a pure package", s.placeOf(x), x.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestNoPackageForLeftovers(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, path.Base(s.pkg)) {
			t.Errorf("%s: a package is named for what it holds", s.path)
		}
	}
}

func TestExportedThingsAreDocumented(t *testing.T) {
	all := sources(t)
	promised := promises(all)
	for _, s := range all {
		if s.test || strings.HasPrefix(s.pkg, "examples") {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d)) && !obvious(d) &&
					!(d.Recv != nil && promised[s.pkg+"."+d.Name.Name]) {
					t.Errorf("%s: %s has no comment", s.placeOf(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil && ts.Comment == nil {
						t.Errorf("%s: %s has no comment", s.placeOf(ts), ts.Name.Name)
					}
				}
			}
		}
	}
}

// promises are the methods that the interfaces of each package name: their meaning is documented there.
func promises(all []*source) map[string]bool {
	promised := map[string]bool{}
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					for _, name := range m.Names {
						promised[s.pkg+"."+name.Name] = true
					}
				}
			}
			return true
		})
	}
	return promised
}

func exportedReceiver(d *ast.FuncDecl) bool { return ast.IsExported(receiver(d)) }

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	switch x := e.(type) {
	case *ast.IndexExpr:
		e = x.X
	case *ast.IndexListExpr:
		e = x.X
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

// obvious are methods whose meaning an interface of the standard library has fixed.
func obvious(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "String", "Write", "Read", "Close", "Len", "Less", "Swap", "Push", "Pop"}, d.Name.Name)
}

// CI vets darwin/arm64 alone: that is enough as long as no file is for one of the two processors of darwin only.
func TestProcessorsOfDarwinHaveTheSameFiles(t *testing.T) {
	on := func(arch string) *build.Context {
		c := build.Default
		c.GOOS, c.GOARCH, c.CgoEnabled = "darwin", arch, false
		return &c
	}
	amd64, arm64 := on("amd64"), on("arm64")
	for _, s := range append(sources(t), sourcesIn(t, "examples", "")...) {
		folder, name := filepath.Split(filepath.Join("..", "..", filepath.FromSlash(s.path)))
		one, err := amd64.MatchFile(folder, name)
		other, err2 := arm64.MatchFile(folder, name)
		if err != nil || err2 != nil || one != other {
			t.Errorf("%s: in darwin/amd64 %v, in darwin/arm64 %v; vet darwin/amd64, too (Makefile)", s.path, one, other)
		}
	}
}
