package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

func (a *app) buildVerb() *cobra.Command {
	o := &buildOptions{}
	var output string
	c := &cobra.Command{
		Use:   "build [PACKAGE]",
		Short: "Build a program that can be explored while it runs",
		Long: "Build a Go program with a second, instrumented body of each function, and with a runtime that copies" +
			" the process. The program calls live.Serve; BLOODHOUND_LIVE_SOCKET names its socket when it starts. " +
			"Only copies run the instrumented bodies. The process itself runs the code as it is.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.pkg = "."
			if len(args) > 0 {
				o.pkg = args[0]
			}
			return a.build(c.Context(), o, output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write this `file` (default: the name of the package's folder)")
	o.flags(c)
	return c
}

func (a *app) build(ctx context.Context, o *buildOptions, output string) error {
	p, err := target(ctx, o.pkg)
	if err != nil {
		return err
	}
	switch {
	case p.Name != "main":
		return fmt.Errorf("%s is not a program; give a package main, or explore the handlers in a package's "+
			"tests with `bloodhound live test`", p.ImportPath)
	case !p.explores():
		return fmt.Errorf("%s does not use %s; call live.Serve in it", p.ImportPath, livePackage)
	}
	if err := withoutC(ctx, p); err != nil {
		return err
	}
	if output == "" {
		output = filepath.Base(p.Dir)
	}
	out, err := os.MkdirTemp("", "bloodhound-live-*")
	if err != nil {
		return program.Failed(err)
	}
	defer os.RemoveAll(out)
	o.env = append(os.Environ(), "CGO_ENABLED=0")
	rewritten, err := a.instrument(ctx, o, p, nil, out)
	if err != nil {
		return err
	}
	if err := addFork(ctx, rewritten.Overlay, out); err != nil {
		return err
	}
	built, err := filepath.Abs(output)
	if err != nil {
		return program.Failed(err)
	}
	build := exec.CommandContext(ctx, "go",
		slices.Concat([]string{"build", "-tags", checkpoint.Tag, "-o", built}, rewritten.Flags, []string{p.ImportPath})...)
	build.Dir, build.Env = p.Dir, o.env
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", p.ImportPath, err, bytes.TrimSpace(text))
	}
	return nil
}

// withoutC is an error if a program has C code in it: its threads and locks are not known to what makes a copy.
func withoutC(ctx context.Context, p *goPackage) error {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}", p.ImportPath)
	list.Dir = p.Dir
	text, err := list.Output()
	if err != nil {
		return program.Failed(fmt.Errorf("`go list -deps %s`: %w", p.ImportPath, err))
	}
	if names := strings.Fields(string(text)); len(names) > 0 {
		return fmt.Errorf("a process with C code cannot be copied, and %s uses cgo; set CGO_ENABLED=0 if it works without, or "+
			"explore the handler in a test (`bloodhound live test`)", names[0])
	}
	return nil
}

// addFork adds what the runtime gets to an overlay.
func addFork(ctx context.Context, overlay, out string) error {
	text, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return program.Failed(fmt.Errorf("`go env`: %w", err))
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	path, fork, err := checkpoint.Overlay(root, version)
	if err != nil {
		return err
	}
	var list struct{ Replace map[string]string }
	text, err = os.ReadFile(overlay)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return program.Failed(err)
	}
	file := filepath.Join(out, filepath.Base(path))
	list.Replace[path] = file
	if text, err = json.Marshal(list); err == nil {
		err = os.WriteFile(overlay, text, 0o666)
	}
	if err == nil {
		err = os.WriteFile(file, fork, 0o666)
	}
	if err != nil {
		return program.Failed(err)
	}
	return nil
}
