package setup

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

func buildVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	c := &cobra.Command{
		Use:   "build [FOLDER or FILE]...",
		Short: "Build the programs that a bloodhound.yaml names, without running them",
		Long: "Run the `build:` commands of one or more projects. Other commands do this before their first run. " +
			"The Dockerfile of an image runs build and sets BLOODHOUND_BUILT to the project's folder; other " +
			"commands then build nothing there.",
		Args: func(_ *cobra.Command, args []string) error { return flags.NoneEmpty(args) },
		RunE: func(c *cobra.Command, args []string) error { return buildProjects(c.Context(), a, f, args) },
	}
	c.Flags().Var(flags.Files(&f.Compose), "compose", "read the nodes from this Compose `file`; repeat to merge several")
	c.Flags().Var(flags.File(&f.Config), "config", "read this configuration `file` instead of bloodhound.yaml")
	return c
}

func buildProjects(ctx context.Context, a *console.App, f *flags.Set, args []string) error {
	if len(args) == 0 {
		return buildProject(ctx, a, f, nil)
	}
	for project := range slices.Chunk(args, 1) {
		if err := buildProject(ctx, a, f, project); err != nil {
			return err
		}
	}
	return nil
}

// buildProject builds one project: the one that is named, or else that of the flags or of the current folder.
func buildProject(ctx context.Context, a *console.App, f *flags.Set, named []string) error {
	o, err := project.Options(f, named)
	if err != nil {
		return err
	}
	o.Describe = true // images are not needed for this
	r, err := config.Load(o)
	if err != nil {
		return err
	}
	p := &project.Project{Spec: r.Spec, Config: r.File, Steps: r.Builds}
	if err := p.RunBuilds(ctx, a); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: %s done\n", r.File, plural.Count(len(p.Steps), "build step"))
	return nil
}
