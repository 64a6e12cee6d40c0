//go:build linux && amd64

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// stripped starts a program where this machine has no libraries, no /etc, no programs and another name: all that a machine may have
// otherwise is missing.
const stripped = `
hostname elsewhere
umask 077
ulimit -c 0
for dir in /opt /srv /root /var/lib /etc /usr; do
	if [ -d $dir ]; then mount -t tmpfs none $dir; fi
done
exec "$@"`

// TestTwoRoots runs worlds of an image and of static programs on this machine as it is, and where it has nothing: nothing of a machine is
// a part of such a run.
func TestTwoRoots(t *testing.T) {
	unshare := []string{"unshare", "--mount", "--uts"}
	if os.Geteuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "mount", "-t", "tmpfs", "none", "/srv")...).CombinedOutput(); err != nil {
		needs.Missing(t, "namespaces", err, string(out))
	}
	const quickstart = "../../../../examples/quickstart"
	dir := t.TempDir()
	goBuild(t, filepath.Join(dir, "kv"), quickstart+"/kv")
	text, err := os.ReadFile(filepath.Join(quickstart, "fixed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	world := regexp.MustCompile(`(?m)^    build: .*\n|^  - name: has-leader\n(    .*\n)*`).ReplaceAllString(string(text), "")
	world = strings.ReplaceAll(world, ".bloodhound/bin/kv", "./kv")
	if strings.Count(world, "    command: ./kv") != 3 || strings.Contains(world, "script:") {
		t.Fatalf("not what this test expects of quickstart:\n%s", world)
	}
	for name, text := range map[string]string{
		"static.yaml": world,
		"none.yaml":   strings.ReplaceAll(world, "    command: ./kv", "    root: none\n    command: ./kv"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	worlds := []string{"static.yaml", "none.yaml"}
	if needs.Has("redis-server") {
		imagetest.Layout(t, filepath.Join(dir, "redis"), imagetest.Stacks["redis"](t))
		compose, err := os.ReadFile("testdata/images/redis/compose.yaml")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("testdata/images/redis/bloodhound.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"compose.yaml": strings.Replace(string(compose), "${REGISTRY}/library/redis:1",
			"oci:redis", 1), "images.yaml": string(text)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		worlds = append(worlds, "images.yaml")
	}
	for _, file := range worlds {
		t.Run(file, func(t *testing.T) {
			images := t.TempDir()
			run := func(before, env []string) (hash string) {
				t.Helper()
				arguments := append(before, bloodhound, "run", filepath.Join(dir, file), "--json", "--seed", "3")
				c := exec.Command(arguments[0], arguments[1:]...)
				c.Env = append(env, "BLOODHOUND_IMAGES="+images)
				var out, errs bytes.Buffer
				c.Stdout, c.Stderr = &out, &errs
				var exit *exec.ExitError
				if err := c.Run(); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				var document runDocument
				if err := json.Unmarshal(out.Bytes(), &document); err != nil {
					t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
				}
				if document.Run.Operations.OK < 50 {
					t.Errorf("the world did not do its work: %+v\n%s", document.Run.Operations, errs.Bytes())
				}
				return document.Run.Hash
			}
			here := run(nil, os.Environ())
			there := run(append(unshare, "sh", "-c", stripped, "sh"),
				[]string{"PATH=/nowhere:/usr/bin:/bin:/sbin:/usr/sbin", "HOME=/nowhere", "LANG=xx", "USER=somebody", "TZ=Asia/Tokyo"})
			if here != there {
				t.Errorf("trace hash %s, and %s where the machine has nothing", here, there)
			}
		})
	}
	if len(worlds) == 2 {
		needs.Missing(t, "redis-server", "a world of images needs it")
	}
}
