package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// versionFile is the file of a folder that holds the version, after versionWords. A folder without it is of version 0: it was
// made before folders had the file.
const (
	versionFile  = "bloodhound-store"
	versionWords = "bloodhound store "
)

// maxVersionBytes bounds that file.
const maxVersionBytes = 64

// ErrVersion is the answer for a database whose version this program does not know.
var ErrVersion = errors.New("the store has a different version")

// errLater explains a part of a database that a later program wrote.
func errLater(what string, is, knows int) error {
	return fmt.Errorf("%w: %s has version %d, but this bloodhound knows versions up to %d; "+
		"a later bloodhound wrote it: everyone who shares the store must use that version or a later one", ErrVersion, what, is, knows)
}

// An upgrade changes a folder from the version of its index in the list to the next one. It may be interrupted at any moment,
// and is then repeated from its start: it writes whole files, and removes what it replaces last.
type upgrade func(ctx context.Context, d *Dir) error

// upgrades lead to the version of folders that this program writes, which is their number. That is the version of a folder's files
// and of the keys and values in it: a change of these that earlier programs would misread adds an upgrade. From version 0 to 1 a
// folder gets the file with its version, and nothing else.
var upgrades = []upgrade{
	func(context.Context, *Dir) error { return nil },
}

// Upgraded tells what Upgrade has done.
type Upgraded struct {
	From int `json:"from"` // version before
	To   int `json:"to"`   // version now; equal to From if there was nothing to do
}

// upgradable is a store whose form Upgrade can change.
type upgradable interface {
	Upgrade(ctx context.Context) (Upgraded, error)
}

// ErrNoUpgrade is the answer of Upgrade for a kind of store that has no older form.
var ErrNoUpgrade = errors.New("this kind of store has no older format")

// Upgrade brings a database to the version that this program writes. Doing so again changes nothing; after an interruption the
// database is readable, and Upgrade goes on.
func Upgrade(ctx context.Context, s Store) (Upgraded, error) {
	if u, ok := s.(upgradable); ok {
		return u.Upgrade(ctx)
	}
	return Upgraded{}, ErrNoUpgrade
}

// readVersion reads the version of a folder, 0 if it has none.
func readVersion(path string) (int, error) {
	name := filepath.Join(path, versionFile)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("store: %w", err)
	}
	defer f.Close()
	b := make([]byte, maxVersionBytes)
	n, err := f.Read(b)
	if err != nil && n == 0 {
		return 0, fmt.Errorf("store: %s cannot be read: %w", name, err)
	}
	digits, ok := strings.CutPrefix(string(b[:n]), versionWords)
	version, err := strconv.Atoi(strings.TrimSuffix(digits, "\n"))
	if !ok || err != nil || version < 1 {
		return 0, fmt.Errorf("store: %s has no version; it must contain one line with %q followed by a number", name, versionWords)
	}
	if version > len(upgrades) {
		return version, fmt.Errorf("store: %w", errLater(path, version, len(upgrades)))
	}
	return version, nil
}

// writeVersion marks a folder with a version.
func writeVersion(path string, version int) error {
	if err := writeWhole(filepath.Join(path, versionFile), fmt.Appendf(nil, "%s%d\n", versionWords, version)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// Upgrade implements upgradable. The mark is written after each upgrade, so one that was interrupted is repeated.
func (d *Dir) Upgrade(ctx context.Context) (u Upgraded, err error) {
	unlock, err := lockFile(filepath.Join(d.path, logFolder, ".lock"))
	if err != nil {
		return u, err
	}
	defer unlock()
	if u.From, err = readVersion(d.path); err != nil {
		return u, err
	}
	for u.To = u.From; u.To < len(upgrades); u.To++ {
		if err := upgrades[u.To](ctx, d); err != nil {
			return u, err
		}
		if err := ctx.Err(); err != nil {
			return u, err
		}
		if err := writeVersion(d.path, u.To+1); err != nil {
			return u, err
		}
	}
	return u, nil
}

// Upgrade upgrades the local store. The shared one is upgraded by its own name, once for all that share it.
func (l *Layered) Upgrade(ctx context.Context) (Upgraded, error) { return Upgrade(ctx, l.local) }

// segmentWords begin each segment; the version of its form follows, and the end of the line.
const segmentWords = "bloodhound segment "

// laterSegment reports whether what begins a segment names a version that this program does not know, and which.
func laterSegment(b []byte) (version int, later bool) {
	line, _, whole := bytes.Cut(b[:min(len(b), maxVersionBytes)], []byte("\n"))
	digits, ok := bytes.CutPrefix(line, []byte(segmentWords))
	if !whole || !ok {
		return 0, false
	}
	version, err := strconv.Atoi(string(digits))
	return version, err == nil && version > segmentVersion
}
