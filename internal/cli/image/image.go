// Package image has the verb image, which lists, pulls and removes images.
package image

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// Verbs makes the verb image.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{imageVerb(a)}
}

func imageVerb(a *console.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "List, pull and remove container images",
		Long: "Images are kept unpacked in one store for all projects: BLOODHOUND_IMAGES, or bloodhound/images in " +
			"your cache folder. Runs pull the images they need; these commands do it in advance, and show and " +
			"remove images.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(imageLsVerb(a), imagePullVerb(a), imagePullKernelVerb(a), imageGCVerb(a))
	return c
}

// ImagesDocument is the JSON document of image ls.
type ImagesDocument struct {
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

func imageLsVerb(a *console.App) *cobra.Command {
	var f flags.Set
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the images of the store",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := project.OpenImages()
			if err != nil {
				return console.Failed(err)
			}
			refs, err := s.References()
			if err != nil {
				return console.Failed(err)
			}
			doc := ImagesDocument{Bloodhound: program.Version(), Verb: "image ls", Images: []imageLine{}}
			for _, r := range refs {
				line := imageLine{Reference: r}
				if img, err := s.Image(c.Context(), r.ID); c.Context().Err() != nil {
					return project.ErrInterrupted
				} else if err != nil {
					line.Error = err.Error()
				} else {
					line.Files, line.SizeBytes = img.Tree.Len(), img.Bytes
				}
				doc.Images = append(doc.Images, line)
			}
			if f.JSON {
				return a.PrintJSON(doc)
			}
			w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tPLATFORM\tIMAGE\tFILES\tSIZE")
			for _, i := range doc.Images {
				if i.Error != "" {
					fmt.Fprintf(w, "%s\t%s\t%.19s\t\t%s\n", i.Name, i.Platform, i.ID, i.Error)
					continue
				}
				fmt.Fprintf(w, "%s\t%s\t%.19s\t%d\t%s\n", i.Name, i.Platform, i.ID, i.Files, project.Megabytes(i.SizeBytes))
			}
			return w.Flush()
		},
	}
	f.AddDocument(c)
	return c
}

func imagePullVerb(a *console.App) *cobra.Command {
	var platform string
	c := &cobra.Command{
		Use:   "pull NAME...",
		Short: "Pull images into the store",
		Long: "NAME is an image of a registry, such as redis:7 or registry.example/team/app@sha256:..., or one of:\n\n" +
			"  oci:FOLDER[:NAME]            an OCI layout\n" +
			"  docker-archive:FILE[:NAME]   a file of `docker save`\n" +
			"  docker-daemon:NAME           an image of this machine's Docker or Podman\n\n" +
			"Logins come from your Docker configuration. BLOODHOUND_MIRRORS=docker.io=mirror.example names hosts " +
			"to try before a registry. An interrupted pull keeps the layers it has.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("image pull needs image names: bloodhound image pull NAME...")
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			s, err := project.OpenImages()
			if err != nil {
				return console.Failed(err)
			}
			o, err := project.ImageOptions(a, platform)
			if err != nil {
				return err
			}
			for _, name := range args {
				r, err := s.Pull(c.Context(), name, "", o)
				if c.Context().Err() != nil {
					return program.WithCode(check.ExitUnknown, errors.New("interrupted; the next pull continues"))
				}
				if err != nil {
					return console.Failed(err)
				}
				fmt.Fprintf(a.Out, "%s is image %s\n", r.Name, r.ID)
			}
			return nil
		},
	}
	c.Flags().StringVar(&platform, "platform", "", "pull the image for this `platform` (default "+image.HostPlatform+"; no other runs here)")
	return c
}

func imageGCVerb(a *console.App) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove images that no name refers to",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := project.OpenImages()
			if err != nil {
				return console.Failed(err)
			}
			removed, err := s.Collect(c.Context(), all)
			if c.Context().Err() != nil {
				return project.ErrInterrupted
			}
			if err != nil {
				return console.Failed(err)
			}
			fmt.Fprintf(a.Out, "removed %s, %s and %s: %s\n", plural.Count(removed.Images, "image"),
				plural.Count(removed.Layers, "layer"), plural.Count(removed.Files, "file"), project.Megabytes(removed.Bytes))
			return nil
		},
	}
	flags.AddSwitch(c, &all, "all", "remove all images; runs pull them again when needed")
	return c
}
