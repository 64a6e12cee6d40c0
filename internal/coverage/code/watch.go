package code

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Watch asks a run which blocks of programs it executes.
type Watch struct {
	// Choice says which binaries are watched.
	Choice Choice
	// State is the coverage so far: no breakpoint is set in covered code, unless the state requests it. It may be nil,
	// and is not changed.
	State *State
	// Only is the digest of the one binary that is watched; empty is all.
	Only string
}

// Choice are the patterns of `coverage.binaries`: names of programs and libraries, or paths in the world where they have a
// slash, with * and ? as in path.Match; a ! in front leaves them out. Without one that names something, the programs of nodes
// under test are watched that are no tools of the system.
type Choice []string

// Check says what is wrong with a pattern.
func Check(pattern string) error {
	p := strings.TrimPrefix(pattern, "!")
	if _, err := path.Match(p, ""); err != nil || p == "" {
		return fmt.Errorf("%q is not a valid pattern for file names", pattern)
	}
	return nil
}

func matches(pattern, file string) bool {
	name := path.Base(file)
	if strings.Contains(pattern, "/") {
		name = file
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// Watches reports whether a file is watched that a node under test executes, as its program or as a library.
func (c Choice) Watches(file string, library bool) bool {
	named := false
	for _, p := range c {
		if out, not := strings.CutPrefix(p, "!"); not {
			if matches(out, file) {
				return false
			}
			continue
		}
		if named = true; matches(p, file) {
			return !slices.ContainsFunc(c, func(q string) bool { return strings.HasPrefix(q, "!") && matches(q[1:], file) })
		}
	}
	return !named && !library && !tool(file)
}

// tools are programs that scripts around servers are made of: shells, the small ones of the system, and those that only start
// others.
var tools = strings.Fields(`sh bash dash ash zsh ksh busybox toybox
	[ arch b2sum base32 base64 basename cat chgrp chmod chown chroot cksum comm cp cut date dd df dir dircolors dirname du echo env
	expand expr factor false fmt fold groups head hostid id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl
	nohup nproc numfmt od paste pathchk pr printenv printf pwd readlink realpath rm rmdir runcon seq sha1sum sha224sum sha256sum sha384sum
	sha512sum shred shuf sleep sort split stat stdbuf stty sum sync tac tail tee test timeout touch tr true truncate tsort tty uname
	unexpand uniq unlink uptime users vdir wc who whoami yes awk gawk mawk sed grep egrep fgrep find xargs hostname which getent ps kill
	pgrep pkill mount umount ip ss nc ncat curl wget jq tar gzip gunzip zcat xz openssl diff cmp less more
	tini docker-init dumb-init catatonit su sudo runuser gosu su-exec setpriv setsid chpst s6-setuidgid start-stop-daemon supervise`)

// toolFolders are where a system keeps them; a program of one's own that is called sync or find is no tool.
var toolFolders = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}

func tool(file string) bool {
	return slices.Contains(toolFolders, path.Dir(file)) && slices.Contains(tools, path.Base(file))
}
