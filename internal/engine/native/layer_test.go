//go:build linux && amd64

package native_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What a program has made of its image's files, laid over the image, is what the program saw: names, modes, owners, contents,
// and which names are one file.
func TestLayers(t *testing.T) {
	root := imagetest.New(t)
	for _, p := range []string{"/bin/sh", "/bin/ls", "/bin/mv", "/bin/rm", "/bin/ln", "/bin/cp", "/bin/mkdir", "/bin/chmod",
		"/bin/chown", "/bin/cat", "/usr/bin/find", "/usr/bin/touch", "/usr/bin/mkfifo", "/usr/bin/sort", "/usr/bin/truncate"} {
		root.Program(p)
	}
	for _, dir := range []string{"kept", "moved", "gone", "again", "listed", "nested/moved"} {
		for _, name := range []string{"a", "b", "sub/c"} {
			root.Text("/d/"+dir+"/"+name, 0o644, dir+"/"+name+"\n")
		}
	}
	root.Text("/d/tofolder", 0o644, "x")
	root.Link("/d/link", "kept/a")
	root.Link("/d/other", "kept/b")
	store, err := image.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	name := imagetest.Layout(t, filepath.Join(t.TempDir(), "layout"), root.Image(v1.Config{}))
	base, err := store.Get(context.Background(), name, "", "", image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const look = `cd /; find d etc var tmp opt -printf '%y %m %U:%G %l %p\n' | sort; find d opt tmp -type f | sort | while read f; do echo "$f: $(cat $f)"; done`
	for _, c := range []struct{ name, script string }{
		{"nothing", "cat /d/kept/a >/dev/null; ls -R / >/dev/null 2>&1"},
		{"new files", "mkdir -p /opt/x/y; echo 1 >/opt/x/y/z; ln -s nowhere /opt/l; mkfifo /opt/p; touch /opt/empty; truncate -s 100000 /opt/holes"},
		{"changed", "echo more >>/d/kept/a; chmod 4711 /d/kept/b; chown 7:8 /d/kept /d/kept/sub/c; chmod 700 /d"},
		{"removed", "rm -r /d/gone; rm /d/kept/a /d/link; rm -r /d/nested/moved/sub"},
		{"removed after a listing", "ls /d/listed >/dev/null; rm /d/listed/a; rm -r /d/listed/sub"},
		{"removed and made again", "rm -r /d/again; mkdir /d/again; echo new >/d/again/b"},
		{"moved", "mv /d/moved /opt; mv /d/nested /d/elsewhere; mv /d/kept/a /d/kept/aa"},
		{"moved over each other", "mv /d/moved/a /d/kept/a; rm -r /d/gone; mv /d/again /d/gone"},
		{"other kinds", "rm /d/tofolder; mkdir /d/tofolder; echo 1 >/d/tofolder/f; rm -r /d/gone; echo file >/d/gone; rm /d/link; " +
			"echo file >/d/link; rm /d/other; ln -s ../opt /d/other"},
		{"hard links", "ln /d/kept/a /opt-a; mv /opt-a /d/z; echo n >/d/n1; ln /d/n1 /d/n2; ln /d/n1 /tmp/n3; echo changed >>/d/n2"},
		{"swapped", "mv /d/kept /d/t; mv /d/moved /d/kept; mv /d/t /d/moved; echo x >/d/kept/new"},
		{"what the engine serves", "echo 10.0.0.1 x >>/etc/hosts; rm -f /etc/hostname"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(img *image.Image, script string) (string, rootfs.Layer) {
				t.Helper()
				spec := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, SetupNs: -1,
					Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
					Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10",
						Image: &world.Image{Name: "x", ID: img.ID}, WorkingDir: "/",
						Command: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}}}
				var out strings.Builder
				w, err := native.New().Boot(spec, tape.Tape{Seed: 1},
					engine.Options{Images: store, Log: func(l record.LogLine) { out.WriteString(l.Text + "\n") }})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				if _, err := w.Advance(engine.Until{}); err != nil {
					t.Fatal(err)
				}
				layered := w.(engine.Layered)
				if code, over := layered.Ended("n1"); code != 0 || !over {
					t.Fatalf("exit code %d, %t\n%s", code, over, out.String())
				}
				var l rootfs.Layer
				err = layered.Layer("n1", func(e rootfs.Entry, content io.Reader) error {
					if content != nil {
						var err error
						if e.Digest, e.Size, err = store.Keep(content); err != nil {
							return err
						}
					}
					l.Entries = append(l.Entries, e)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return out.String(), l
			}
			saw, layer := run(base, "set -e; mkdir -p /opt;"+c.script+"; "+look)
			layers := []*rootfs.Layer{}
			for _, h := range base.Config.RootFS.DiffIDs {
				l, err := store.Layer(context.Background(), h.String())
				if err != nil {
					t.Fatal(err)
				}
				layers = append(layers, l)
			}
			// As an archive and back, which is how it comes into the store.
			diff, err := store.AddLayer(context.Background(), func(w *rootfs.LayerWriter) error {
				for i := range layer.Entries {
					e := &layer.Entries[i]
					var content bytes.Buffer
					if e.Kind == rootfs.File && e.First == "" {
						b, err := os.ReadFile(store.File(e.Digest))
						if err != nil {
							return err
						}
						content.Write(b)
					}
					if err := w.Add(e, &content); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			own, err := store.Layer(context.Background(), diff)
			if err != nil {
				t.Fatal(err)
			}
			img, release := store.Assemble(base.Config, append(layers, own)...)
			defer release()
			again, nothing := run(img, look)
			if c.name == "what the engine serves" { // every world has its own
				saw, again = without(saw, "etc/host"), without(again, "etc/host")
			}
			if saw != again {
				t.Errorf("the program saw\n%s\nlater there is\n%s\nthe layer has %s", saw, again, names(layer))
			}
			if c.name == "nothing" && names(layer) != "5 opt" {
				t.Errorf("the layer has %s", names(layer))
			}
			if len(nothing.Entries) != 0 {
				t.Errorf("who changed nothing has %s", names(nothing))
			}
		})
	}
}

func names(l rootfs.Layer) string {
	var all []string
	for _, e := range l.Entries {
		all = append(all, fmt.Sprintf("%c %s", e.Kind, e.Path))
	}
	return strings.Join(all, ", ")
}

func without(text, part string) string {
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(l string) bool { return strings.Contains(l, part) })
	return strings.Join(lines, "")
}
