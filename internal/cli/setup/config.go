package setup

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ConfigDocument is the JSON document of config.
type ConfigDocument struct {
	Bloodhound  string             `json:"bloodhound"`
	Verb        string             `json:"verb"`
	ExitCode    int                `json:"exit_code"`
	Files       []string           `json:"files"`
	World       *world.Spec        `json:"world"`
	Builds      []config.Build     `json:"builds,omitempty"`
	Exploration config.Exploration `json:"exploration"`
	Coverage    config.Coverage    `json:"coverage,omitzero"`
	Output      config.Output      `json:"output"`
	Debug       config.Debug       `json:"debug,omitzero"`
	Notes       []config.Note      `json:"notes,omitempty"`
}

// lists are the other outputs of config, by the names of their flags, which `docker compose config` also has.
var lists = []struct {
	flag, usage string
	of          func(s *world.Spec) []string
}{
	{"services", "print the names of the nodes, one a line", func(s *world.Spec) []string {
		return gather(s, func(n *world.Node) (names []string) {
			if n.Role == world.Server || n.Image != nil || len(n.Command) > 0 {
				names = append(names, n.Name)
			}
			return names
		})
	}},
	{"images", "print the names of the images, one a line", func(s *world.Spec) []string {
		return gather(s, func(n *world.Node) (names []string) {
			if n.Image != nil {
				names = append(names, n.Image.Name)
			}
			return names
		})
	}},
	{"networks", "print the names of the networks, one a line", func(s *world.Spec) []string {
		if len(s.Networks) == 0 {
			return []string{"default"}
		}
		var names []string
		for _, n := range s.Networks {
			names = append(names, n.Name)
		}
		return names
	}},
	{"volumes", "print the names of the named volumes, one a line", func(s *world.Spec) []string {
		return gather(s, func(n *world.Node) (names []string) {
			for _, v := range n.Volumes {
				if v.Kind == world.Named && !filepath.IsAbs(v.Source) { // else it is bound and not there
					names = append(names, v.Source)
				}
			}
			return names
		})
	}},
}

// gather collects what nodes have, each once, in the order of the nodes.
func gather(s *world.Spec, of func(*world.Node) []string) []string {
	var all []string
	for i := range s.Nodes {
		for _, name := range of(&s.Nodes[i]) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func configVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	quiet := false
	wanted := make([]bool, len(lists))
	c := &cobra.Command{
		Use:   "config [FOLDER or FILE]",
		Short: "Check a configuration and print it with all defaults",
		Long: "Read a configuration or Compose files as a run does, and print them as one bloodhound.yaml: " +
			"variables and defaults filled in, several files merged, addresses and the rules of a preset as " +
			"comments. Saved in the same folder, the output describes the same system. --json prints the resolved " +
			"world.\n\n" +
			"It does not build, pull or start anything, and the programs do not have to be installed. It omits what images " +
			"declare (commands, environments, users, volumes).",
		Args: flags.OneArgument,
		RunE: func(c *cobra.Command, args []string) error { return printConfig(a, f, args, quiet, wanted) },
	}
	f.AddPlacesAndDocument(c)
	c.Flags().VarPF(flags.Switch(&quiet), "quiet", "q", "print only notes and mistakes").NoOptDefVal = "true"
	alone := []string{"json", "quiet"}
	for i, l := range lists {
		flags.AddSwitch(c, &wanted[i], l.flag, l.usage)
		alone = append(alone, l.flag)
	}
	c.MarkFlagsMutuallyExclusive(alone...)
	return c
}

func printConfig(a *console.App, f *flags.Set, args []string, quiet bool, wanted []bool) error {
	f.AsWritten = true
	o, err := project.Options(f, args)
	if err != nil {
		return err
	}
	o.Describe = true
	r, err := project.ReadConfig(o)
	if err != nil {
		return err
	}
	if eng, err := project.EngineFor(r.Spec); err == nil { // a machine without the engine can read configurations for others
		if v, ok := eng.(engine.RuleValidator); ok {
			if mistakes := v.ValidateRules(r.Spec); len(mistakes) > 0 {
				return r.Locate(mistakes)
			}
		}
	}
	for i := range r.Spec.Nodes {
		for k := range r.Spec.Nodes[i].Volumes {
			r.Spec.Nodes[i].Volumes[k].Content = nil // of a secret, perhaps
		}
	}
	doc := ConfigDocument{Bloodhound: program.Version(), Verb: "config", Files: r.Files(), World: r.Spec, Builds: r.Builds,
		Exploration: r.Exploration, Coverage: r.Coverage, Output: r.Output, Debug: r.Debug, Notes: r.Notes}
	if doc.Exploration.Seed == nil {
		seed := uint64(project.DefaultSeed)
		doc.Exploration.Seed = &seed
	}
	if f.JSON {
		return a.PrintJSON(doc)
	}
	project.Notes(a, r.Notes)
	for i, l := range lists {
		if wanted[i] {
			for _, name := range l.of(r.Spec) {
				fmt.Fprintln(a.Out, name)
			}
			return nil
		}
	}
	if quiet {
		return nil
	}
	if f.Engine != "" {
		r.Engine = f.Engine
	}
	text, err := r.YAML()
	if err != nil {
		return console.Failed(err)
	}
	_, err = a.Out.Write(text)
	return err
}
