// Package program has what the programs of this project share: the name of their build, signals, exit codes of errors, output that
// commands neither a terminal nor a CI runner, and help.
package program

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// version and revision, which is a commit, are set by the linker, for releases and by make. Other builds know what the go command has recorded.
var version, revision = "", ""

// Version names this build.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	at, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			at = " " + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if at != "" && strings.Contains(v, at[1:]) {
		return v
	}
	return v + at + dirty
}

// Build names this build in full: its version, what it was made from, and the toolchain. `go install MODULE@VERSION` records no commit: then it
// is the one in the version, or else the module's digest.
func Build() string {
	from := "commit " + revision
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		from = "commit unknown"
		if rev, err := module.PseudoVersionRev(info.Main.Version); err == nil {
			from = "commit " + rev
		} else if info.Main.Sum != "" {
			from = "module " + info.Main.Sum
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				from = "commit " + s.Value
			}
		}
	}
	return fmt.Sprintf("%s (%s, %s %s/%s)", Version(), from, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
