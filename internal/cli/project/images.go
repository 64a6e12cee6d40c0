package project

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// OpenImages opens the store of images, once in a process: all worlds share its trees.
var OpenImages = sync.OnceValues(func() (*image.Store, error) {
	dir, err := image.DefaultDir()
	if err != nil {
		return nil, err
	}
	return image.Open(dir)
})

// ImagesOf opens the store if a node needs it; otherwise there are no images.
func ImagesOf(spec *world.Spec) (engine.Images, error) {
	for i := range spec.Nodes {
		if spec.Nodes[i].Image != nil {
			return OpenImages()
		}
	}
	return nil, nil
}

// mirrorsVariable names, for each registry, hosts that are asked first: docker.io=http://localhost:5000,quay.io=mirror.example.
const mirrorsVariable = "BLOODHOUND_MIRRORS"

// ImageOptions are how this user pulls.
func ImageOptions(a *console.App, platform string) (image.Options, error) {
	o := image.Options{Platform: platform, Progress: pulling(a)}
	for pair := range strings.SplitSeq(os.Getenv(mirrorsVariable), ",") {
		if pair == "" {
			continue
		}
		registry, mirror, ok := strings.Cut(pair, "=")
		if !ok || registry == "" || mirror == "" {
			return o, fmt.Errorf("%s: %q is not a mirror; write REGISTRY=HOST, such as docker.io=mirror.example", mirrorsVariable, pair)
		}
		if o.Mirrors == nil {
			o.Mirrors = map[string][]string{}
		}
		o.Mirrors[registry] = append(o.Mirrors[registry], mirror)
	}
	return o, nil
}

// progressBytes is how much of a layer comes between two lines about it.
const progressBytes = 32 << 20

// pulling says how far a pull is: a line a layer, and more of them for large ones.
func pulling(a *console.App) func(image.Progress) {
	var shown image.Progress
	return func(p image.Progress) {
		if p.Image != shown.Image || p.Layer != shown.Layer || p.Bytes < shown.Bytes {
			shown = image.Progress{Image: p.Image, Layer: p.Layer}
		}
		switch {
		case p.Unpacked:
			a.Note("%s: layer %d of %d is there (%s)", p.Image, p.Layer, p.Layers, Megabytes(p.Size))
		case p.Bytes-shown.Bytes < progressBytes:
			return
		case p.Size > 0:
			a.Note("%s: layer %d of %d: %s of %s", p.Image, p.Layer, p.Layers, Megabytes(p.Bytes), Megabytes(p.Size))
		default:
			a.Note("%s: layer %d of %d: %s", p.Image, p.Layer, p.Layers, Megabytes(p.Bytes))
		}
		shown = p
	}
}

// Megabytes writes a number of bytes.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(max(n, 0))/1e6) }

// findImages is how a configuration gets its images.
func findImages(ctx context.Context, a *console.App) config.Images {
	return func(name, dir, policy string) (*image.Image, error) {
		s, err := OpenImages()
		if err != nil {
			return nil, fmt.Errorf("%w; set BLOODHOUND_IMAGES to a folder that you can write to", err)
		}
		o, err := ImageOptions(a, "")
		if err != nil {
			return nil, err
		}
		return s.Get(ctx, name, dir, image.Policy(policy), o)
	}
}
