package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func (a *app) initVerb() *cobra.Command {
	template := ""
	c := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a bloodhound.yaml to start from",
		Args:  oneArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return fmt.Errorf("%s is not a folder; name the one that the configuration is for", dir)
			}
			if template != "" {
				return a.initTemplate(dir, template)
			}
			path := filepath.Join(dir, configName)
			if _, err := os.Lstat(path); err == nil {
				return fmt.Errorf("%s exists already; edit it, or remove it first", path)
			} else if !errors.Is(err, os.ErrNotExist) {
				return err
			}
			text, compose := config.Scaffold(dir)
			if err := report.WriteFile(path, text); err != nil {
				return err
			}
			if compose != "" {
				fmt.Fprintf(a.out, "wrote %s for the services of %s: say in it what drives them, then run `bloodhound run%s`\n", path, compose, inFolder(dir))
				return nil
			}
			fmt.Fprintf(a.out, "wrote %s: put your programs into it, then run `bloodhound run%s`\n", path, inFolder(dir))
			return nil
		},
	}
	c.Flags().StringVar(&template, "template", "", "write this `template`, a test with a planted bug and its programs: "+strings.Join(config.Templates(), ", "))
	return c
}

// initTemplate writes the files of a template, and none if one of them is there already.
func (a *app) initTemplate(dir, name string) error {
	files := config.Template(name)
	if files == nil {
		return fmt.Errorf("there is no template %q; there are %s", name, strings.Join(config.Templates(), ", "))
	}
	names := slices.Sorted(maps.Keys(files))
	for _, n := range names {
		path := filepath.Join(dir, n)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists already; name another folder", path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, n := range names {
		if err := report.WriteFile(filepath.Join(dir, n), files[n]); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.out, "wrote %s: a test with a planted bug; run `bloodhound explore%s`\n", strings.Join(names, ", "), inFolder(dir))
	return nil
}

func inFolder(dir string) string {
	if dir == "." {
		return ""
	}
	return argumentsOf(&flags{}, []string{dir})
}
