package machinefault_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/machine"
	"github.com/bloodhound-dst/bloodhound/sdk/machinefault"
)

// journal is a program that keeps records in a file.
type journal struct {
	files machine.Files
	f     machine.File
	// Bugs: a sync that failed is tried again; a new file gets its name before it is durable.
	syncsAgain, renamesEarly bool
}

const recordBytes = 9

func record(i int) string { return fmt.Sprintf("r%07d\n", i) }

// open reads the records, and writes them into a new file: what was written before a sync that failed may not be durable, whatever is read.
func (j *journal) open() (records []string, err error) {
	var whole []byte
	old, err := j.files.OpenFile("journal", os.O_RDONLY, 0)
	if err == nil {
		whole, err = io.ReadAll(old)
		old.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for ; len(whole) >= recordBytes && whole[0] == 'r' && whole[recordBytes-1] == '\n'; whole = whole[recordBytes:] {
		records = append(records, string(whole[:recordBytes]))
	}
	f, err := j.files.OpenFile("journal.new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	if _, err = io.WriteString(f, strings.Join(records, "")); err == nil && !j.renamesEarly {
		err = f.Sync()
	}
	if err == nil {
		err = j.files.Rename("journal.new", "journal")
	}
	if err == nil {
		err = j.files.SyncDir(".")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	j.f = f
	return records, nil
}

// add adds a record. After an error the journal must be opened again.
func (j *journal) add(i int) error {
	_, err := io.WriteString(j.f, record(i))
	if err == nil {
		err = j.f.Sync()
		for tries := 0; err != nil && j.syncsAgain && tries < 3; tries++ {
			err = j.f.Sync()
		}
	}
	if err != nil {
		j.f.Close()
		j.f = nil
	}
	return err
}

// keeps is the test of a journal: no record is lost that add has acknowledged, whatever fails.
func keeps(bug journal) func(*sdk.Run) {
	return func(r *sdk.Run) {
		lost := sdk.Rates{Before: 0.02, After: 0.02}
		disk := machinefault.NewDisk(r.TempDir(), "disk", machinefault.DiskFaults{
			Open: lost, Read: lost, Write: lost, Sync: lost, Rename: lost, ShortWrite: 0.02, Full: 0.02, PowerLoss: 0.02,
			Lost: 0.5, Torn: 0.3, Forgotten: 0.5}, r)
		defer disk.Close()
		j := bug
		j.files = disk
		restart := func() {
			j.f = nil
			if err := disk.Restart(); err != nil {
				r.Fatalf("Restart: %v", err)
			}
		}
		var kept []string
		for i := range 20 {
			for range 5 {
				if disk.Down() {
					restart()
				}
				if j.f == nil {
					if _, err := j.open(); err != nil {
						continue
					}
				}
				if j.add(i) == nil {
					kept = append(kept, record(i))
					break
				}
			}
		}
		restart()
		r.Quiet()
		records, err := j.open()
		if err != nil {
			r.Fatalf("after the faults: %v", err)
		}
		for _, want := range kept {
			if !slices.Contains(records, want) {
				r.Errorf("the record %q is lost", want)
			}
		}
	}
}

// A journal that knows what a disk may do loses nothing. One that syncs again after an error, and one that syncs too late, do.
func TestJournals(t *testing.T) {
	runs := 60
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		runs = 10_000 // a million calls
	}
	sdk.Campaign{Runs: runs}.Test(t, keeps(journal{}))
	t.Chdir(t.TempDir()) // where failures are stored
	for name, bug := range map[string]journal{"syncsAgain": {syncsAgain: true}, "renamesEarly": {renamesEarly: true}} {
		text, ok := sdk.Campaign{Runs: 400}.Search(t, keeps(bug))
		if ok || !strings.Contains(text, "is lost") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// source has the faults happen that it names.
type source []string

func (s source) Mishap(kind string, rate float64) bool { return rate > 0 && slices.Contains(s, kind) }
func (source) Sleep(time.Duration)                     {}

// tree is all files below a folder, with their contents.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, folder)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A disk without faults does what a folder does, and a loss of power that takes all of what was not synced brings back what was there at the last sync.
func TestDiskIsAFolder(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		a, b := t.TempDir(), t.TempDir()
		faults := machinefault.DiskFaults{Lost: 1, Forgotten: 1}
		if seed%4 == 0 {
			faults = machinefault.DiskFaults{} // which lose nothing
		}
		disk := machinefault.NewDisk(a, "disk", faults, source{"disk_lost", "disk_forgotten"})
		folder := machine.Folder(b)
		names := []string{"x", "y", "z", "d/x", "d/y"}
		both := []machine.Files{disk, folder}
		for _, files := range both {
			if err := files.MkdirAll("d", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var open [][2]machine.File
		synced := tree(t, a)
		for step := range 40 {
			name, other := names[random.IntN(len(names))], names[random.IntN(len(names))]
			flag := os.O_RDWR | []int{0, os.O_CREATE, os.O_CREATE, os.O_CREATE | os.O_TRUNC, os.O_CREATE | os.O_APPEND, os.O_CREATE | os.O_EXCL}[random.IntN(6)]
			text, at, k := []byte(fmt.Sprint("step ", step, strings.Repeat("!", random.IntN(20)))), random.Int64N(30), random.IntN(10)
			var errs [2]error
			var seen [2]string
			var pair [2]machine.File
			which := 0
			if len(open) > 0 {
				which = random.IntN(len(open))
			}
			for i, files := range both {
				switch {
				case k == 0:
					errs[i] = files.Rename(name, other)
				case k == 1:
					errs[i] = files.Remove(name)
				case k <= 3 || len(open) == 0:
					pair[i], errs[i] = files.OpenFile(name, flag, 0o644)
				case k == 4:
					_, errs[i] = open[which][i].WriteAt(text, at)
				case k <= 6:
					_, errs[i] = open[which][i].Write(text)
				case k == 7:
					errs[i] = open[which][i].Truncate(at)
				case k == 8:
					buf := make([]byte, 7)
					n, err := open[which][i].Read(buf)
					seen[i], errs[i] = string(buf[:n]), err
				case k == 9:
					n, err := open[which][i].Seek(-at/4, io.SeekEnd)
					seen[i], errs[i] = fmt.Sprint(n), err
				}
			}
			if (errs[0] == nil) != (errs[1] == nil) || seen[0] != seen[1] {
				t.Fatalf("seed %d, step %d (%d on %s): %v and %q, in a folder %v and %q", seed, step, k, name, errs[0], seen[0], errs[1], seen[1])
			}
			if pair[0] != nil {
				open = append(open, pair)
			}
			if random.IntN(10) == 0 {
				for _, pair := range open {
					if err := pair[0].Sync(); err != nil {
						t.Fatal(err)
					}
				}
				if err := disk.SyncDir("."); err != nil {
					t.Fatal(err)
				}
				synced = tree(t, a)
			}
		}
		if got, want := fmt.Sprint(tree(t, a)), fmt.Sprint(tree(t, b)); got != want {
			t.Fatalf("seed %d: the disk has %s, and a folder %s", seed, got, want)
		}
		if err := disk.Restart(); err != nil {
			t.Fatal(err)
		}
		if faults.Lost == 0 {
			synced = tree(t, b)
		}
		if got, want := fmt.Sprint(tree(t, a)), fmt.Sprint(synced); got != want {
			t.Fatalf("seed %d: after a loss of power the disk has %s, and at the last sync it had %s", seed, got, want)
		}
		for _, pair := range open {
			if _, err := pair[0].Write(nil); err == nil {
				t.Fatal("a file is still open after a loss of power")
			}
			pair[1].Close()
		}
		if err := disk.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Each fault does what its name says.
func TestFaultsOfDisks(t *testing.T) {
	const text = "0123456789"
	always := sdk.Rates{Before: 1, After: 1}
	for _, c := range []struct {
		name  string
		fault string
		f     machinefault.DiskFaults
		n     int // as Write returns
		err   error
		sync  error
		left  string // after a loss of power
	}{
		{"nothing", "", machinefault.DiskFaults{}, 10, nil, nil, text},
		{"before", "d_write_before", machinefault.DiskFaults{Write: always}, 0, syscall.EIO, nil, ""},
		{"after", "d_write_after", machinefault.DiskFaults{Write: always}, 0, syscall.EIO, nil, text},
		{"short", "d_short_write", machinefault.DiskFaults{ShortWrite: 1}, 5, syscall.EIO, nil, text[:5]},
		{"full", "d_full", machinefault.DiskFaults{Full: 1}, 0, syscall.ENOSPC, nil, ""},
		{"capacity", "", machinefault.DiskFaults{CapacityBytes: 9}, 0, syscall.ENOSPC, nil, ""},
		{"enough", "", machinefault.DiskFaults{CapacityBytes: 10}, 10, nil, nil, text},
		{"sync after", "d_sync_after", machinefault.DiskFaults{Sync: always, Lost: 1}, 10, nil, syscall.EIO, text},
		{"power", "d_power_loss", machinefault.DiskFaults{PowerLoss: 1}, 0, machinefault.ErrPower, machinefault.ErrPower, ""},
	} {
		folder := t.TempDir()
		disk := machinefault.NewDisk(folder, "d", c.f, source{c.fault})
		f, err := disk.OpenFile("x", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.WriteString(f, text)
		syncErr := f.Sync()
		if err := disk.Restart(); err != nil {
			t.Fatal(err)
		}
		left, _ := os.ReadFile(filepath.Join(folder, "x"))
		if n != c.n || !errors.Is(err, c.err) || !errors.Is(syncErr, c.sync) || string(left) != c.left {
			t.Errorf("%s: wrote %d, %v, sync %v, left %q", c.name, n, err, syncErr, left)
		}
	}
	// A torn write, and one that no sync makes durable after one has failed.
	for _, sync := range []bool{false, true} { // what is written later is durable
		folder := t.TempDir()
		faults := source{"d_torn", "d_sync_before"}
		disk := machinefault.NewDisk(folder, "d", machinefault.DiskFaults{Torn: 1, Sync: always}, &faults)
		f, err := disk.OpenFile("x", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil || sync && f.Sync() == nil {
			t.Fatalf("Write: %v, or a sync without error", err)
		}
		faults = source{"d_torn"}
		want := text[:5]
		if sync {
			if _, err := io.WriteString(f, "more"); err != nil || f.Sync() != nil {
				t.Fatal("a later write, or its sync, fails")
			}
			want += "\x00\x00\x00\x00\x00more"
		}
		if err := disk.Restart(); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadFile(filepath.Join(folder, "x")); !bytes.Equal(left, []byte(want)) {
			t.Errorf("of a torn write %q is left", left)
		}
	}
	for _, make := range []func(){
		func() {
			machinefault.NewDisk(".", "d", machinefault.DiskFaults{Write: sdk.Rates{Twice: 0.1}}, source{})
		},
		func() { machinefault.NewDisk(".", "d", machinefault.DiskFaults{Torn: 1.1}, source{}) },
		func() { machinefault.NewDisk(".", "d", machinefault.DiskFaults{CapacityBytes: -1}, source{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("rates without meaning are taken")
				}
			}()
			make()
		}()
	}
}

func BenchmarkOff(b *testing.B) {
	folder := b.TempDir()
	for name, files := range map[string]machine.Files{"plain": machine.Folder(folder),
		"wrapped": machinefault.NewDisk(folder, "d", machinefault.DiskFaults{}, nil)} {
		b.Run(name, func(b *testing.B) {
			f, err := files.OpenFile("x", os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			text := make([]byte, 100)
			for b.Loop() {
				if _, err := f.WriteAt(text, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
