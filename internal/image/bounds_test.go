package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// layers makes n layers of one file each.
func layers(t *testing.T, n int) [][]byte {
	t.Helper()
	var all [][]byte
	for i := range n {
		all = append(all, names(t, file(fmt.Sprintf("file%d", i), fmt.Sprint(i))))
	}
	return all
}

// openedLayer calls opened before its content is read.
type openedLayer struct {
	v1.Layer
	opened func()
}

func (l openedLayer) Compressed() (io.ReadCloser, error) {
	l.opened()
	return l.Layer.Compressed()
}

// asked is a context that ends after its Err was asked a number of times, and counts how often it is asked after that.
type asked struct {
	context.Context
	before, after int
}

func (a *asked) Err() error {
	if a.before > 0 {
		a.before--
		return nil
	}
	a.after++
	return context.Canceled
}

func TestPullEndsBetweenLayers(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opened := 0
	var all []v1.Layer
	for _, archive := range layers(t, 40) {
		all = append(all, openedLayer{layerOf(t, archive), func() {
			if opened++; opened == 3 {
				cancel()
			}
		}})
	}
	img, err := mutate.AppendLayers(imageFrom(t), all...)
	if err != nil {
		t.Fatal(err)
	}
	opened = 0
	s := store(t)
	platform := &v1.Platform{OS: "linux", Architecture: "amd64"}
	if _, err := s.storeImage(ctx, "test", img, platform, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if opened != 3 {
		t.Errorf("%d layers were opened, and the third cancelled the pull", opened)
	}
	if kept, err := os.ReadDir(filepath.Join(s.dir, "layers")); err != nil || len(kept) != 2 {
		t.Errorf("the store has the layers %v, %v", kept, err)
	}
}

// writeBoth writes an image to base as the layout "layout" and as the archive "app.tar".
func writeBoth(t *testing.T, base string, img v1.Image) {
	t.Helper()
	path, err := layout.Write(filepath.Join(base, "layout"), empty.Index)
	if err == nil {
		err = path.AppendImage(img)
	}
	tag, tagErr := name.NewTag("app:1")
	if err = errors.Join(err, tagErr); err == nil {
		err = tarball.WriteToFile(filepath.Join(base, "app.tar"), tag, img)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Each call that reads layers ends soon after its context, wherever that happens.
func TestCallsEndWithTheirContext(t *testing.T) {
	base := t.TempDir()
	img := imageFrom(t, layers(t, 40)...)
	writeBoth(t, base, img)
	from := store(t)
	ref, err := from.Pull(context.Background(), "oci:layout", base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls := []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"pull a layout", func(ctx context.Context) error {
			_, err := store(t).Pull(ctx, "oci:layout", base, Options{})
			return err
		}},
		{"pull an archive", func(ctx context.Context) error {
			_, err := store(t).Pull(ctx, "docker-archive:app.tar", base, Options{})
			return err
		}},
		{"load an image", func(ctx context.Context) error {
			clear(from.images)
			_, err := from.Image(ctx, ref.ID)
			return err
		}},
		{"collect", func(ctx context.Context) error {
			_, err := from.Collect(ctx, false)
			return err
		}},
		{"add a layer", func(ctx context.Context) error {
			_, err := from.AddLayer(ctx, func(w *rootfs.LayerWriter) error {
				for i := range 1000 {
					content := strings.NewReader(strings.Repeat("x", 4096))
					e := &rootfs.Entry{Path: fmt.Sprintf("file%d", i), Kind: rootfs.File, Mode: 0o644, Size: 4096}
					if err := w.Add(e, content); err != nil {
						return err
					}
				}
				return nil
			})
			return err
		}},
		{"unpack", func(ctx context.Context) error {
			_, err := from.Unpack(ctx, strings.NewReader(string(names(t, file("a", strings.Repeat("a", 1<<20))))), nil)
			return err
		}},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			for _, before := range []int{0, 1, 2, 7, 25} {
				ctx := &asked{Context: context.Background(), before: before}
				if err := c.do(ctx); !errors.Is(err, context.Canceled) {
					t.Fatalf("%v after %d questions", err, before)
				}
				if ctx.after > 10 { // each layer of the rest would ask at least once
					t.Errorf("it asked %d times after its context had ended", ctx.after)
				}
			}
			if _, err := from.Image(context.Background(), ref.ID); err != nil {
				t.Errorf("the image is not in the store any more: %v", err)
			}
		})
	}
}

func TestTooManyLayers(t *testing.T) {
	base := t.TempDir()
	archive := names(t)
	var many [][]byte
	for range MaxLayers + 1 {
		many = append(many, archive)
	}
	img := imageFrom(t, many...)
	writeBoth(t, base, img)
	host := serve(t, nil)
	push(t, host+"/app", img)
	for _, from := range []string{"oci:layout", "docker-archive:app.tar", host + "/app"} {
		_, err := store(t).Pull(context.Background(), from, base, Options{})
		if err == nil || !strings.Contains(err.Error(), "it has 501 layers, but the limit is 500") {
			t.Errorf("%s: %v", from, err)
		}
	}
}

// What go-containerregistry reads as a whole is bounded.
func TestLargeArchiveFiles(t *testing.T) {
	large := strings.Repeat(" ", maxConfigBytes+1)
	manifest := func(config string) string { return `[{"Config": "` + config + `", "Layers": []}]` }
	for _, c := range []struct {
		name    string
		archive []byte
		want    string
	}{
		{"manifest", names(t, file("manifest.json", large)), "its manifest.json has 16777217 bytes"},
		{"configuration", names(t, file("manifest.json", manifest("c.json")), file("c.json", large)), "its c.json has 16777217 bytes"},
		{"another spelling", names(t, file("manifest.json", manifest("./d/../c.json")), file("./c.json", large)), "its c.json has 16777217 bytes"},
		{"link", names(t, file("manifest.json", manifest("l")), file("c.json", large), soft("l", "c.json")), "its l is a link"},
		{"long name", names(t, file(strings.Repeat("n/", rootfs.MaxNameBytes)+"n", "")), "names that are too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.tar"), c.archive, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := store(t).Pull(context.Background(), "docker-archive:a.tar", dir, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
