package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"strings"
	"time"
)

// deb is a package of Debian (deb(5)).
type deb struct {
	version string
	arch    string
	files   []file // by their paths, without the first slash
}

// debOf lays the content out where Debian's programs look for it.
func debOf(src *source, t target, c *content) (*deb, error) {
	d := &deb{version: debVersion(src.version), arch: t.arch, files: append(under("usr/bin", c.programs()), []file{
		{"usr/share/bash-completion/completions/bloodhound", 0o644, c.bash},
		{"usr/share/zsh/vendor-completions/_bloodhound", 0o644, c.zsh},
		{"usr/share/fish/vendor_completions.d/bloodhound.fish", 0o644, c.fish},
		{"usr/share/doc/bloodhound/copyright", 0o644, append(append(bytes.Clone(c.license), '\n'), c.third...)},
	}...)}
	for _, f := range append(under("man/man1", c.manual), file{"doc/bloodhound/changelog", 0o644, c.changes}) {
		content, err := gzipped(f.content)
		if err != nil {
			return nil, err
		}
		d.files = append(d.files, file{"usr/share/" + f.name + ".gz", f.mode, content})
	}
	return d, nil
}

// debVersion writes a version of Go as one of Debian (deb-version(7)): what is before a release sorts before it.
func debVersion(version string) string {
	return strings.ReplaceAll(strings.TrimPrefix(version, "v"), "-", "~")
}

func (d *deb) file() string { return fmt.Sprintf("bloodhound_%s_%s.deb", d.version, d.arch) }

const control = `Package: bloodhound
Version: %s
Architecture: %s
Maintainer: The Bloodhound authors <bloodhound-dst@users.noreply.github.com>
Installed-Size: %d
Suggests: docker.io | podman, gdb, git, qemu-system-x86
Section: devel
Priority: optional
Homepage: https://github.com/bloodhound-dst/bloodhound
Description: deterministic simulation testing of distributed systems
 Bloodhound runs a cluster of unmodified programs in a simulated world, where
 network, disks, clocks, scheduling and random numbers are under its control.
 It injects faults, checks that properties hold, and shrinks each failure to
 the few decisions that matter. The same tape gives the same run.
`

// build writes the package.
func (d *deb) build(at time.Time) ([]byte, error) {
	var sums bytes.Buffer
	bytesInAll := 0
	for _, f := range d.files {
		bytesInAll += len(f.content)
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.content), f.name)
	}
	about := []file{
		{"control", 0o644, fmt.Appendf(nil, control, d.version, d.arch, (bytesInAll+1023)/1024)},
		{"md5sums", 0o644, sums.Bytes()},
	}
	controlTar, err := tarGz(under(".", about), at)
	if err != nil {
		return nil, err
	}
	dataTar, err := tarGz(under(".", d.files), at)
	if err != nil {
		return nil, err
	}
	return ar(at, file{name: "debian-binary", content: []byte("2.0\n")}, file{name: "control.tar.gz", content: controlTar},
		file{name: "data.tar.gz", content: dataTar}), nil
}

// ar is an archive in the common format of ar(5). Names have at most 16 bytes.
func ar(at time.Time, members ...file) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, m := range members {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, at.Unix(), 0, 0, "100644", len(m.content))
		b.Write(m.content)
		if len(m.content)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
