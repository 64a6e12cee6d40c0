package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// openImages opens the store of images, once in a process: all worlds share its trees.
var openImages = sync.OnceValues(func() (*image.Store, error) {
	dir, err := image.DefaultDir()
	if err != nil {
		return nil, err
	}
	return image.Open(dir)
})

// imagesOf opens the store if a node needs it; otherwise there are no images.
func imagesOf(spec *world.Spec) (engine.Images, error) {
	for i := range spec.Nodes {
		if spec.Nodes[i].Image != nil {
			return openImages()
		}
	}
	return nil, nil
}

// mirrorsVariable names, for each registry, hosts that are asked first: docker.io=http://localhost:5000,quay.io=mirror.example.
const mirrorsVariable = "BLOODHOUND_MIRRORS"

// imageOptions are how this user pulls.
func (a *app) imageOptions(platform string) (image.Options, error) {
	o := image.Options{Platform: platform, Progress: a.pulling()}
	for pair := range strings.SplitSeq(os.Getenv(mirrorsVariable), ",") {
		if pair == "" {
			continue
		}
		registry, mirror, ok := strings.Cut(pair, "=")
		if !ok || registry == "" || mirror == "" {
			return o, fmt.Errorf("%s: %q is no mirror; write REGISTRY=HOST, such as docker.io=mirror.example", mirrorsVariable, pair)
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
func (a *app) pulling() func(image.Progress) {
	var shown image.Progress
	return func(p image.Progress) {
		if p.Image != shown.Image || p.Layer != shown.Layer || p.Bytes < shown.Bytes {
			shown = image.Progress{Image: p.Image, Layer: p.Layer}
		}
		switch {
		case p.Unpacked:
			a.note("%s: layer %d of %d is there (%s)", p.Image, p.Layer, p.Layers, megabytes(p.Size))
		case p.Bytes-shown.Bytes < progressBytes:
			return
		case p.Size > 0:
			a.note("%s: layer %d of %d: %s of %s", p.Image, p.Layer, p.Layers, megabytes(p.Bytes), megabytes(p.Size))
		default:
			a.note("%s: layer %d of %d: %s", p.Image, p.Layer, p.Layers, megabytes(p.Bytes))
		}
		shown = p
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(max(n, 0))/1e6) }

// findImages is how a configuration gets its images.
func (a *app) findImages(ctx context.Context) config.Images {
	return func(name, dir, policy string) (*image.Image, error) {
		s, err := openImages()
		if err != nil {
			return nil, fmt.Errorf("%w; BLOODHOUND_IMAGES can name a folder that you may write to", err)
		}
		o, err := a.imageOptions("")
		if err != nil {
			return nil, err
		}
		return s.Get(ctx, name, dir, image.Policy(policy), o)
	}
}

func (a *app) imageVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Look at the images that nodes are made from, pull them, or make room",
		Long: `Images are kept unpacked in one store for all projects: BLOODHOUND_IMAGES, or bloodhound/images in the user's cache
folder. Runs pull what they need; these verbs do it beforehand, and show and remove what is there.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.imageLsVerb(), a.imagePullVerb(), a.imagePullKernelVerb(), a.imageGCVerb())
	return c
}

// imagesDocument is the JSON document of image ls.
type imagesDocument struct {
	Bloodhound string      `json:"bloodhound"`
	Verb       string      `json:"verb"`
	Images     []imageLine `json:"images"`
}

type imageLine struct {
	image.Reference
	Files     int    `json:"files"`
	SizeBytes int64  `json:"size_bytes"`      // of all files, those that other images have too
	Error     string `json:"error,omitempty"` // why it cannot be read; runs pull it again
}

func (a *app) imageLsVerb() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the images of the store",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := openImages()
			if err != nil {
				return failed(err)
			}
			refs, err := s.References()
			if err != nil {
				return failed(err)
			}
			doc := imagesDocument{Bloodhound: program.Version(), Verb: "image ls", Images: []imageLine{}}
			for _, r := range refs {
				line := imageLine{Reference: r}
				if img, err := s.Image(c.Context(), r.ID); c.Context().Err() != nil {
					return errInterrupted
				} else if err != nil {
					line.Error = err.Error()
				} else {
					line.Files, line.SizeBytes = img.Tree.Len(), img.Bytes
				}
				doc.Images = append(doc.Images, line)
			}
			if f.json {
				return a.printJSON(doc)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tPLATFORM\tIMAGE\tFILES\tSIZE")
			for _, i := range doc.Images {
				if i.Error != "" {
					fmt.Fprintf(w, "%s\t%s\t%.19s\t\t%s\n", i.Name, i.Platform, i.ID, i.Error)
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%.19s\t%d\t%s\n", i.Name, i.Platform, i.ID, i.Files, megabytes(i.SizeBytes))
			}
			return w.Flush()
		},
	}
	f.document(c)
	return c
}

func (a *app) imagePullVerb() *cobra.Command {
	var platform string
	c := &cobra.Command{
		Use:   "pull NAME...",
		Short: "Bring images into the store",
		Long: `A NAME is one of a registry, such as redis:7 or registry.example/team/app@sha256:..., or oci:FOLDER[:NAME] for an OCI
layout, docker-archive:FILE[:NAME] for what ` + "`docker save`" + ` writes, or docker-daemon:NAME for an image of the Docker or Podman
daemon of this machine. Logins are those of the user's Docker configuration.
BLOODHOUND_MIRRORS=docker.io=mirror.example names hosts that are asked before a registry.
What a pull that was interrupted has brought is not fetched again.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("image pull takes the names of images: bloodhound image pull NAME...")
			}
			return noneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			s, err := openImages()
			if err != nil {
				return failed(err)
			}
			o, err := a.imageOptions(platform)
			if err != nil {
				return err
			}
			for _, name := range args {
				r, err := s.Pull(c.Context(), name, "", o)
				if c.Context().Err() != nil {
					return program.WithCode(check.ExitUnknown, errors.New("interrupted; the next pull goes on from there"))
				}
				if err != nil {
					return failed(err)
				}
				fmt.Fprintf(a.out, "%s is image %s\n", r.Name, r.ID)
			}
			return nil
		},
	}
	c.Flags().StringVar(&platform, "platform", "", "pull the image for this `platform` (default "+image.HostPlatform+"; others do not run here)")
	return c
}

func (a *app) imageGCVerb() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove from the store what no name leads to any more",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := openImages()
			if err != nil {
				return failed(err)
			}
			removed, err := s.Collect(c.Context(), all)
			if c.Context().Err() != nil {
				return errInterrupted
			}
			if err != nil {
				return failed(err)
			}
			fmt.Fprintf(a.out, "removed %s, %s and %s: %s\n", plural.Count(removed.Images, "image"),
				plural.Count(removed.Layers, "layer"), plural.Count(removed.Files, "file"), megabytes(removed.Bytes))
			return nil
		},
	}
	addSwitch(c, &all, "all", "remove all images; runs pull what they need again")
	return c
}
