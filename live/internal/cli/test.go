package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goversion "go/version"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/live/internal/modules"
	"github.com/bloodhound-dst/bloodhound/live/internal/rewrite"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// triedReleases are the releases of Go with which instrumented code was tried.
var triedReleases = []string{"go1.26"}

func (a *app) testVerb() *cobra.Command {
	o := &buildOptions{}
	c := &cobra.Command{
		Use:   "test [PACKAGE] [-- ARGUMENTS]",
		Short: "Explore the handlers in the tests of a package",
		Long: "Build the tests of a Go package with instrumented code and run them. A handler that a test gives to " +
			"live.Explore is called once for each path: Bloodhound records the conditions that depend on its " +
			"inputs, and solves for inputs that decide them differently. Plain `go test` calls the handler once.",
		Args: func(c *cobra.Command, args []string) error { return cobra.MaximumNArgs(1)(c, before(c, args)) },
		RunE: func(c *cobra.Command, args []string) error {
			o.args = args[len(before(c, args)):]
			args = before(c, args)
			o.pkg = "."
			if len(args) > 0 {
				o.pkg = args[0]
			}
			return a.test(c.Context(), o)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&o.run, "run", "", "run only tests whose names match this `pattern`")
	return c
}

// before are the arguments that come before a --.
func before(c *cobra.Command, args []string) []string {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n]
	}
	return args
}

type buildOptions struct {
	pkg, run, leave string
	env             []string // of the go command; nil is this process's
	instrument, add []string
	args            []string // of the tests' program
	std, left       bool
}

// flags adds the flags of verbs that build instrumented code.
func (o *buildOptions) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&o.instrument, "instrument", nil,
		"instrument these `packages`, as the go command names them (default: the packages in the package's folder)")
	c.Flags().BoolVar(&o.std, "std", true, "also instrument packages of the standard library that the code uses, such as strings and net/netip")
	c.Flags().StringArrayVar(&o.add, "add", nil,
		"build a file into a package of another module, as `PACKAGE=FILE.go`, for a handler that the package does not export")
	c.Flags().StringVar(&o.leave, "leave", "",
		"do not instrument functions whose package path and name match this `pattern`, such as '\\.String$': "+
			"their results count as not depending on inputs")
	c.Flags().BoolVar(&o.left, "left", false, "list the functions that are not instrumented, and why")
}

// plainStd are packages of the standard library that are plain Go, and that values of inputs go through. Others are of the
// operating system, of the runtime, or format text.
var plainStd = []string{"bytes", "cmp", "container/heap", "container/list", "encoding/base64", "encoding/binary", "encoding/hex",
	"internal/strconv", "internal/stringslite", "maps", "net/netip", "slices", "sort", "strconv", "strings", "unicode/utf8"}

// goPackage holds the fields of `go list` for the package whose tests run.
type goPackage struct {
	Dir, ImportPath, Name                    string
	TestGoFiles, XTestGoFiles                []string
	Imports, TestImports, XTestImports, Deps []string
}

func (a *app) test(ctx context.Context, o *buildOptions) error {
	p, err := target(ctx, o.pkg)
	if err != nil {
		return err
	}
	if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 || !p.explores() {
		return noHandler(p.ImportPath)
	}
	out, err := os.MkdirTemp("", "bloodhound-live-*")
	if err != nil {
		return program.Failed(err)
	}
	defer os.RemoveAll(out)
	rewritten, err := a.instrument(ctx, o, p, []string{p.ImportPath}, out)
	if err != nil {
		return err
	}
	built := filepath.Join(out, "test")
	build := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-c", "-vet=off", "-o", built}, rewritten.Flags, []string{p.ImportPath})...)
	build.Dir = p.Dir
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the tests of %s: %w\n%s", p.ImportPath, err, bytes.TrimSpace(text))
	}
	seen := &watcher{to: a.out, what: []byte("live: ")}
	test := exec.CommandContext(ctx, built, append([]string{"-test.v", "-test.run", o.run}, o.args...)...)
	test.Dir, test.Env, test.Stdout, test.Stderr = p.Dir, append(os.Environ(), shadow.SitesVariable+"="+rewritten.Sites), seen, a.err
	err = test.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return program.ErrInterrupted
	case errors.As(err, &exit):
		a.code = exitcode.Violated
	case err != nil:
		return program.Failed(err)
	case !seen.seen:
		return noHandler(p.ImportPath)
	}
	return nil
}

// instrument rewrites the code of a package and of those of the options, and notes how much of it.
func (a *app) instrument(ctx context.Context, o *buildOptions, p *goPackage, tests []string, out string) (*rewrite.Result, error) {
	patterns, err := o.patterns(p)
	if err != nil {
		return nil, err
	}
	var leave *regexp.Regexp
	if o.leave != "" {
		if leave, err = regexp.Compile(o.leave); err != nil {
			return nil, fmt.Errorf("--leave: %w", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("%w; modules are copied there", err)
	}
	copies := modules.Options{Dir: p.Dir, Patterns: patterns, Cache: filepath.Join(cache, "bloodhound", "modules"), Out: out}
	for _, text := range o.add {
		added, err := modules.ParseAdded(text)
		if err != nil {
			return nil, err
		}
		copies.Added = append(copies.Added, added)
	}
	flags, err := modules.Copy(ctx, copies)
	if err != nil {
		return nil, err
	}
	if o.std {
		used, err := usedStd(ctx, p, flags)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, used...)
	}
	rewritten, err := rewrite.Rewrite(rewrite.Options{Dir: p.Dir, Patterns: patterns, Tests: tests, Flags: flags, Env: o.env, Leave: leave, Out: out})
	if err != nil {
		return nil, err
	}
	return rewritten, a.summary(rewritten, o.left)
}

// patterns name the packages that are instrumented, wherever the go command runs: folders are those of this process.
func (o *buildOptions) patterns(p *goPackage) ([]string, error) {
	if o.instrument == nil {
		return []string{p.ImportPath, "./..."}, nil
	}
	list := []string{p.ImportPath}
	for _, pattern := range o.instrument {
		if pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../") {
			whole, err := filepath.Abs(pattern)
			if err != nil {
				return nil, program.Failed(err)
			}
			pattern = whole
		}
		list = append(list, pattern)
	}
	return list, nil
}

// target finds the package, and refuses what cannot be explored.
func target(ctx context.Context, name string) (*goPackage, error) {
	text, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, program.Failed(fmt.Errorf("`go env GOVERSION`: %w; install Go from https://go.dev/dl", err))
	}
	used := strings.TrimSpace(string(text))
	if !slices.Contains(triedReleases, goversion.Lang(used)) {
		return nil, fmt.Errorf("instrumentation does not support %s; use one of %s, for example with GOTOOLCHAIN=%s.0", used,
			strings.Join(triedReleases, ", "), triedReleases[len(triedReleases)-1])
	}
	flags, err := exec.CommandContext(ctx, "go", "env", "GOFLAGS").Output()
	if err != nil {
		return nil, program.Failed(fmt.Errorf("`go env GOFLAGS`: %w", err))
	}
	if slices.Contains(strings.Fields(string(flags)), "-race") {
		return nil, errors.New("instrumented code does not work with the race detector; remove -race from GOFLAGS")
	}
	list := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,Name,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps", name)
	var errs bytes.Buffer
	list.Stderr = &errs
	text, err = list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s is not a Go package: %s", name, bytes.TrimSpace(errs.Bytes()))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var p, second goPackage
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("%s names no package", name)
	}
	if d.Decode(&second) != io.EOF {
		return nil, fmt.Errorf("%s matches several packages, such as %s and %s; give "+
			"one", name, p.ImportPath, second.ImportPath)
	}
	return &p, nil
}

// usedStd are the packages of plainStd that the tests of a package are linked with.
func usedStd(ctx context.Context, p *goPackage, flags []string) (used []string, err error) {
	list := exec.CommandContext(ctx, "go",
		slices.Concat([]string{"list", "-deps", "-test", "-f", "{{if .Standard}}{{.ImportPath}}{{end}}"}, flags, []string{p.ImportPath})...)
	list.Dir = p.Dir
	text, err := list.Output()
	if err != nil {
		return nil, program.Failed(fmt.Errorf("`go list -deps -test %s`: %w", p.ImportPath, err))
	}
	for _, name := range strings.Fields(string(text)) {
		if slices.Contains(plainStd, name) {
			used = append(used, name)
		}
	}
	return used, nil
}

// explores reports whether a package, its tests or what it imports may explore a handler.
func (p *goPackage) explores() bool {
	return slices.Contains(slices.Concat(p.Imports, p.TestImports, p.XTestImports, p.Deps), livePackage)
}

// livePackage is the import path of the package with which tests explore handlers.
const livePackage = "github.com/bloodhound-dst/bloodhound/live"

func noHandler(path string) error {
	return fmt.Errorf("no test of %s explores a handler; call live.Explore in one (%s)", path, livePackage)
}

// summary notes how much of the packages is instrumented, and is an error if nothing is.
func (a *app) summary(r *rewrite.Result, left bool) error {
	functions, second, packages := 0, 0, 0
	reasons := map[string]int{}
	for i := range r.Packages {
		p := &r.Packages[i]
		if p.Refused != "" {
			a.note("%s is not instrumented: %s", p.Path, p.Refused)
			continue
		}
		packages++
		functions += p.Functions
		second += p.Second
		for reason, n := range p.Reasons {
			reasons[reason] += n
		}
		for _, l := range p.Left {
			if left {
				a.note("  %s %s: %s", l.At, l.Name, l.Reason)
			}
		}
	}
	if packages == 0 {
		return errors.New("no package is instrumented, so no condition would be seen; choose packages with --instrument")
	}
	a.note("instrumented: %d of %s in %s", second, plural.Count(functions, "function"), plural.Count(packages, "package"))
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		a.note("  %d are not: %s", reasons[reason], reason)
	}
	return nil
}

// watcher passes on what is written, and notices a text at the beginning of one of its words.
type watcher struct {
	to   io.Writer
	what []byte
	seen bool
	tail []byte // the end of what was written before
}

func (w *watcher) Write(p []byte) (int, error) {
	both := append(w.tail, p...)
	w.seen = w.seen || bytes.Contains(both, w.what)
	w.tail = bytes.Clone(both[max(0, len(both)-len(w.what)):])
	return w.to.Write(p)
}
