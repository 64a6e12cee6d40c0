package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Variables that make this program upgrade a folder by trialUpgrades, and be killed at a moment of that.
const (
	upgradeFolder = "STORE_TEST_UPGRADE"
	upgradeMoment = "STORE_TEST_MOMENT"
)

func init() {
	if folder := os.Getenv(upgradeFolder); folder != "" {
		upgradeUntilKilled(folder, os.Getenv(upgradeMoment))
		os.Exit(0)
	}
}

// upgradeUntilKilled upgrades a folder. Its moments are numbered; at one of them the process is killed.
func upgradeUntilKilled(folder, moment string) {
	n := 0
	at := func(string) {
		if fmt.Sprint(n) == moment {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		n++
	}
	beforeRename = at
	upgrades = trialUpgrades(at)
	d := &Dir{path: folder, name: "upgrader", packer: NewPacker(), damages: map[string]string{}}
	if _, err := d.Upgrade(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// trialUpgrades marks a folder, and then writes each segment anew, under another name, before it removes the old one.
func trialUpgrades(at func(string)) []upgrade {
	rewrite := func(ctx context.Context, d *Dir) error {
		list, err := filepath.Glob(filepath.Join(d.path, logFolder, "*"+segmentEnd))
		if err != nil {
			return err
		}
		for _, name := range list {
			if strings.HasPrefix(filepath.Base(name), "again-") {
				continue
			}
			b, err := os.ReadFile(name)
			if err == nil {
				err = writeWhole(filepath.Join(filepath.Dir(name), "again-"+filepath.Base(name)), b)
			}
			at(name)
			if err == nil {
				err = os.Remove(name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return append(upgrades[:1:1], rewrite)
}

// olderFolder is a folder as it was before folders had a version, with two segments.
func olderFolder(t *testing.T) (path, content string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store")
	for _, value := range []string{"first", "second"} {
		d, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Add(t.Context(), Entry{Key: "k", Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.PutBlob(t.Context(), []byte(value)); err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
	if err := os.Remove(filepath.Join(path, versionFile)); err != nil {
		t.Fatal(err)
	}
	return path, contentOf(t, path)
}

// contentOf lists the entries and blobs of a folder, each once.
func contentOf(t *testing.T, path string) string {
	t.Helper()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	to := NewMemory()
	if _, err := Merge(t.Context(), to, d); err != nil {
		t.Fatal(err)
	}
	if list := d.Damages(); len(list) > 0 {
		t.Fatal(list)
	}
	has := map[string]bool{}
	_, err = to.Read(t.Context(), "", "", func(e Entry) error { has[e.Key+"="+string(e.Value)] = true; return nil })
	if err == nil {
		err = to.Blobs(t.Context(), func(i BlobInfo) error { has["blob "+string(i.Digest)] = true; return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(has) // in the order of keys
}

func TestUpgradeOfFolder(t *testing.T) {
	path, content := olderFolder(t)
	for _, want := range []Upgraded{{0, 1}, {1, 1}, {1, 1}} {
		d, err := OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Upgrade(t.Context(), d)
		d.Close()
		if err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
		if now := contentOf(t, path); now != content {
			t.Fatalf("the upgrade changed the content:\n%s\n%s", content, now)
		}
	}
	if _, err := Upgrade(t.Context(), NewMemory()); !errors.Is(err, ErrNoUpgrade) {
		t.Error(err)
	}
	if _, err := Upgrade(t.Context(), ReadOnly{NewMemory()}); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}

// A folder whose upgrade is killed at any moment can be read, has lost nothing, and the next upgrade completes.
func TestUpgradeKilled(t *testing.T) {
	defer func(were []upgrade) { upgrades = were }(upgrades)
	upgrades = trialUpgrades(func(string) {})
	killed := 0
	for moment := 0; ; moment++ {
		path, content := olderFolder(t)
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), upgradeFolder+"="+path, fmt.Sprintf("%s=%d", upgradeMoment, moment))
		out, err := c.CombinedOutput()
		if err == nil {
			break
		}
		if state, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() {
			t.Fatalf("moment %d: %v: %s", moment, err, out)
		}
		killed++
		if now := contentOf(t, path); now != content {
			t.Errorf("moment %d changed the content:\n%s\n%s", moment, content, now)
		}
		c = exec.Command(os.Args[0])
		c.Env = append(os.Environ(), upgradeFolder+"="+path)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("after moment %d: %v: %s", moment, err, out)
		}
		if now := contentOf(t, path); now != content {
			t.Errorf("after moment %d, the upgrade lost something:\n%s\n%s", moment, content, now)
		}
		version, err := os.ReadFile(filepath.Join(path, versionFile))
		if err != nil || string(version) != versionWords+"2\n" {
			t.Errorf("after moment %d: %q, %v", moment, version, err)
		}
	}
	if killed < 6 { // two marks; two segments that are written, and then removed
		t.Errorf("only %d moments", killed)
	}
}

// A folder, or a segment in it, of a later version is refused with the remedy, and not changed.
func TestLaterVersionRefused(t *testing.T) {
	path, _ := olderFolder(t)
	mark := filepath.Join(path, versionFile)
	if err := os.WriteFile(mark, fmt.Appendf(nil, "%s%d\n", versionWords, len(upgrades)+1), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDir(path); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "a later bloodhound wrote it") {
		t.Errorf("a folder of a later version: %v", err)
	}
	for _, text := range []string{"", "bloodhound store", "bloodhound store x\n", "bloodhound store 0\n", "1\n", strings.Repeat("1", 1000)} {
		if err := os.WriteFile(mark, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenDir(path); err == nil || errors.Is(err, ErrVersion) {
			t.Errorf("the version file %q: %v", text, err)
		}
	}
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	later := fmt.Appendf(nil, "%s%d\nof another form", segmentWords, segmentVersion+1)
	if err := os.WriteFile(filepath.Join(path, logFolder, "later-000000.seg"), later, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Read(t.Context(), "", "", func(Entry) error { return nil }); !errors.Is(err, ErrVersion) {
		t.Errorf("a segment of a later version: %v", err)
	}
}
