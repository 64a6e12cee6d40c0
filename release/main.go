// Command release makes what a release of Bloodhound consists of, from the commit that is checked out: an archive for each
// system, packages for Debian, container images, a list of what each program was built from, and checksums; and a proxy of
// its Go modules, in files.
//
// Two releases of one commit by one version of Go are equal, byte for byte, wherever they are made: no file has a path, a user or a time of the machine. The
// time of all files is that of the commit, or SOURCE_DATE_EPOCH in seconds since 1970 (reproducible-builds.org/specs/source-date-epoch).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
)

func main() {
	out := flag.String("o", "dist", "write the release into this folder, which must be empty or missing")
	only := flag.String("only", "", "make the release of this target only, such as linux/amd64")
	flag.Parse()
	if err := run(*out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out, only string) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is not a flag; see -help", flag.Arg(0))
	}
	src, err := checkout(".")
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or name another folder by -o", out)
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if err := src.requiresItself(); err != nil {
		return err
	}
	fmt.Printf("bloodhound %s of commit %s, by %s\n", src.version, src.commit, runtime.Version())
	var made []string
	for _, t := range targets {
		if only != "" && only != t.String() {
			continue
		}
		names, err := t.release(src, out)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, names...)
	}
	if len(made) == 0 {
		return fmt.Errorf("%q is no target; they are %v", only, targets)
	}
	if err := src.writeProxy(filepath.Join(out, proxyFolder), released); err != nil {
		return err
	}
	sums, err := checksums(out, made)
	if err != nil {
		return err
	}
	fmt.Print(string(sums))
	return os.WriteFile(filepath.Join(out, sumsName), sums, 0o666)
}

// release makes all files of one target, and returns their names.
func (t target) release(src *source, out string) ([]string, error) {
	program, err := src.buildBloodhound(t)
	if err != nil {
		return nil, err
	}
	live, err := src.build(t, "./live/cmd/bloodhound-live")
	if err != nil {
		return nil, err
	}
	// Worlds are Linux, whatever system this release is for.
	drivers, err := src.build(target{"linux", t.arch}, "./drivers/cmd/"+driverfile.DriversName)
	if err != nil {
		return nil, err
	}
	// Nodes are programs of linux/amd64, whatever machine runs the world.
	server, err := src.build(target{"linux", "amd64"}, "./examples/quickstart/kv")
	if err != nil {
		return nil, err
	}
	c, err := collect(src, program, live, drivers, server)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("bloodhound-%s-%s-%s", src.version, t.os, t.arch)
	var made []string
	write := func(name string, content []byte, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		made = append(made, name)
		return os.WriteFile(filepath.Join(out, name), content, 0o666)
	}
	content, err := tarGz(c.archive(name), src.time)
	if err := write(name+".tar.gz", content, err); err != nil {
		return nil, err
	}
	for name, p := range map[string]struct {
		module  string
		program []byte
	}{name: {modulePath, program}, "bloodhound-live" + strings.TrimPrefix(name, "bloodhound"): {livePath, live},
		driverfile.DriversName + strings.TrimPrefix(name, "bloodhound"): {driversPath, drivers}} {
		content, err = bom(src, p.module, p.program)
		if err := write(name+".cdx.json", content, err); err != nil {
			return nil, err
		}
	}
	if t.os != "linux" {
		return made, nil
	}
	d, err := debOf(src, t, c)
	if err != nil {
		return nil, err
	}
	content, err = d.build(src.time)
	if err := write(d.file(), content, err); err != nil {
		return nil, err
	}
	content, err = image(src, t, c)
	if err := write(name+"-image.tar", content, err); err != nil {
		return nil, err
	}
	return made, nil
}
