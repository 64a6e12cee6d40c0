package setup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/config/scaffolding"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// maxOffered bounds the worlds that init offers; --from takes the others.
const maxOffered = 9

func initVerb(a *console.App) *cobra.Command {
	template, system, from := "", "", ""
	c := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a bloodhound.yaml for the programs in a folder",
		Long: "Read the files of a folder and write a bloodhound.yaml for the programs it finds: Go, Rust, Node, " +
			"Java, Python, C, Dockerfiles, Compose files and Kubernetes manifests. init executes nothing and " +
			"never overwrites a file.",
		Args: flags.OneArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return fmt.Errorf("%s is not a folder; give the folder of your programs", dir)
			}
			given := slices.DeleteFunc([]string{template, system, from}, func(value string) bool { return value == "" })
			switch {
			case len(given) > 1:
				return errors.New("--template, --system and --from exclude each other; leave out one of them")
			case template != "":
				return initTemplate(a, dir, template)
			case system != "":
				return initSystem(a, dir, system)
			}
			return initFolder(a, dir, from)
		},
	}
	c.Flags().StringVar(&template, "template", "", "write this `template`, an example with a planted bug: "+strings.Join(config.Templates(), ", "))
	c.Flags().StringVar(&system, "system", "", "write an example for a `kind` of system: "+strings.Join(config.Systems(), ", "))
	c.Flags().StringVar(&from, "from", "", "`name` of the program or Compose file to use, if the folder has several; --from example writes an example")
	return c
}

// initFolder writes a configuration for what a folder has.
func initFolder(a *console.App, dir, from string) error {
	for _, name := range []string{project.ConfigName, "bloodhound.yml"} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s already exists; edit it, or remove it first", path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	found := scaffolding.Find(dir)
	for _, n := range found.Notes {
		fmt.Fprintf(a.Err, "note: %s\n", n)
	}
	w, err := chooseWorld(a, found, from)
	if err != nil {
		return err
	}
	if err := writeNew(dir, w.Files); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "wrote %s for %s\n", writtenNames(dir, w.Files), w.What)
	if len(w.Checks) > 0 {
		fmt.Fprint(a.Out, "\nCheck in it\n")
	}
	for _, c := range w.Checks {
		fmt.Fprintf(a.Out, "  %s\n", c)
	}
	next := [][2]string{
		{"bloodhound run" + inFolder(dir), "run once and check the properties"},
		{"bloodhound explore" + inFolder(dir), "search for a violation"},
	}
	for _, name := range scaffolding.StarterNames {
		if w.Files[name] != nil && !w.Complete {
			next = append([][2]string{{"edit " + filepath.Join(dir, name), "then use it as the driver in " + project.ConfigName}}, next...)
		}
	}
	nameNext(a, next)
	return nil
}

// nameNext prints commands that a person may want next, each with what it does.
func nameNext(a *console.App, commands [][2]string) {
	width := 0
	for _, c := range commands {
		width = max(width, len(c[0]))
	}
	fmt.Fprint(a.Out, "\nNext\n")
	for _, c := range commands {
		fmt.Fprintf(a.Out, "  %-*s  %s\n", width, c[0], c[1])
	}
}

// chooseWorld takes the world that --from names, else the only one, else the one that a person at a terminal picks, else
// the best.
func chooseWorld(a *console.App, found scaffolding.Findings, from string) (scaffolding.World, error) {
	worlds := found.Worlds[:min(len(found.Worlds), maxOffered)]
	switch {
	case from != "":
		return found.Choose(from)
	case len(worlds) == 0:
		return scaffolding.Example(), nil
	case len(worlds) == 1:
		return worlds[0], nil
	case program.IsTerminal(a.JSON) && term.IsTerminal(int(os.Stdin.Fd())):
		return askForWorld(a, worlds, os.Stdin)
	}
	fmt.Fprintf(a.Out, "found %s; to test another program, remove the written files and call init with\n", worlds[0].What)
	for _, w := range worlds[1:] {
		fmt.Fprintf(a.Out, "  --from %s: %s\n", w.Name, w.What)
	}
	if more := len(found.Worlds) - len(worlds); more > 0 {
		fmt.Fprintf(a.Out, "  and %d more\n", more)
	}
	return worlds[0], nil
}

// maxTries bounds how often a person is asked for a number.
const maxTries = 3

// askForWorld asks for the number of a world. An empty line is the first one.
func askForWorld(a *console.App, worlds []scaffolding.World, in io.Reader) (scaffolding.World, error) {
	fmt.Fprintln(a.Out, "Which of these do you want to test?")
	for i, w := range worlds {
		fmt.Fprintf(a.Out, "  %d  %s\n", i+1, w.What)
	}
	lines := bufio.NewScanner(in)
	for range maxTries {
		fmt.Fprintf(a.Out, "Number [1]: ")
		if !lines.Scan() {
			break
		}
		answer := strings.TrimSpace(lines.Text())
		if answer == "" {
			return worlds[0], nil
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(worlds) {
			return worlds[n-1], nil
		}
		fmt.Fprintf(a.Out, "%q is not a number from 1 to %d\n", answer, len(worlds))
	}
	return scaffolding.World{}, errors.New("no answer; choose with --from NAME")
}

// initTemplate writes the files of a template, and none if one of them is there already.
func initTemplate(a *console.App, dir, name string) error {
	files := config.Template(name)
	if files == nil {
		return fmt.Errorf("unknown template %q; templates are %s", name, strings.Join(config.Templates(), ", "))
	}
	if err := writeNew(dir, files); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	fmt.Fprintf(a.Out, "wrote %s: a test with a planted bug; run `bloodhound explore%s`\n", strings.Join(names, ", "), inFolder(dir))
	return nil
}

// initSystem writes an example for a kind of system, and none of its files if one is there already.
func initSystem(a *console.App, dir, kind string) error {
	files := config.System(kind)
	if files == nil {
		return fmt.Errorf("unknown kind of system %q; use one of %s", kind, strings.Join(config.Systems(), ", "))
	}
	if err := writeNew(dir, files); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "wrote %s\n\n", writtenNames(dir, files))
	fmt.Fprintf(a.Out, "server.py has a planted bug; %s runs it without. `bloodhound docs systems` describes what such systems promise.\n",
		config.FixedName)
	nameNext(a, [][2]string{
		{"bloodhound explore" + inFolder(dir), "find the bug"},
		{"bloodhound explore --config " + filepath.Join(dir, config.FixedName), "search for a violation without it"},
	})
	return nil
}

// writtenNames are files of a folder, the configuration first.
func writtenNames(dir string, files map[string][]byte) string {
	names := []string{filepath.Join(dir, project.ConfigName)}
	for _, n := range slices.Sorted(maps.Keys(files)) {
		if n != project.ConfigName {
			names = append(names, n)
		}
	}
	return strings.Join(names, " and ")
}

// writeNew writes files into a folder, and none if one of them is there already.
func writeNew(dir string, files map[string][]byte) error {
	names := slices.Sorted(maps.Keys(files))
	for _, n := range names {
		path := filepath.Join(dir, n)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s already exists; choose another folder", path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, n := range names {
		if err := report.WriteFile(filepath.Join(dir, n), files[n]); err != nil {
			return err
		}
	}
	return nil
}

func inFolder(dir string) string {
	if dir == "." {
		return ""
	}
	return flags.ArgumentsOf(&flags.Set{}, []string{dir})
}
