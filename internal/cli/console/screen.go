package console

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/printable"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// lastName is the file of the state folder that has the full text of the last command.
const lastName = "last.txt"

// FullText is the text of a command that ends with a screen: it goes into a file, and to standard output as well where a person has asked for it or
// cannot ask again.
type FullText struct {
	app   *App
	out   io.Writer // standard output
	state string    // folder of the file
	file  *os.File  // nil before the first write, and where none can be written
	Whole bool      // on standard output, too
	lost  bool      // no file can be written
}

// AddVerbose asks for the full text.
func AddVerbose(f *flags.Set, c *cobra.Command) {
	c.Flags().BoolVarP(&f.Verbose, "verbose", "v", false, "print everything instead of one screen (default if the environment variable CI is set)")
}

// wholeText reports whether the full text goes to standard output.
func wholeText(f *flags.Set) bool {
	ci := os.Getenv("CI")
	return f.Verbose || f.Logs || f.Reached || ci != "" && ci != "false" || os.Getenv(program.WorkflowVariable) == "true"
}

// BeginText begins the full text of a command. Until it is closed, a.Out is the file of the state folder, unless the whole text is wanted.
func (a *App) BeginText(state string, f *flags.Set) *FullText {
	t := &FullText{app: a, out: a.Out, state: state, Whole: wholeText(f)}
	if !f.JSON {
		a.Out = &printable.Writer{To: t}
	}
	return t
}

// Write takes in a part of the text. Where there is no place for the file, all of it goes to standard output.
func (t *FullText) Write(p []byte) (int, error) {
	if t.file == nil && !t.lost {
		err := os.MkdirAll(t.state, 0o777)
		if err == nil {
			t.file, err = os.CreateTemp(t.state, ".last-*")
		}
		t.lost = err != nil
	}
	if !t.lost {
		if _, err := t.file.Write(p); err != nil { // the disk is full
			t.spill()
			t.lost = true
		}
	}
	if t.Whole || t.lost {
		return t.out.Write(p)
	}
	return len(p), nil
}

// spill prints what only the file has.
func (t *FullText) spill() {
	if t.Whole {
		return
	}
	if _, err := t.file.Seek(0, io.SeekStart); err == nil {
		io.Copy(t.out, t.file)
	}
}

// Show prints the screen in the place of the full text.
func (t *FullText) Show(s *report.Screen) error {
	if t.Whole || t.lost || t.app.Out == t.out {
		return nil
	}
	t.app.Out = t.out
	s.Details = "-v, or " + fromHere(filepath.Join(t.state, lastName))
	coloured := program.IsTerminal(t.app.JSON) && wantsColour()
	return s.Print(t.app.Raw, coloured)
}

// Close ends the full text. What no screen has stood for goes to standard output after all.
func (t *FullText) Close() {
	hidden := !t.lost && t.app.Out != t.out
	t.app.Out = t.out
	if t.file == nil {
		return
	}
	if hidden {
		t.spill()
	}
	// CreateTemp's file is for its owner alone; others who may read the folder may read this one.
	err := t.file.Chmod(0o644)
	if closed := t.file.Close(); err == nil {
		err = closed
	}
	if err == nil && !t.lost {
		err = os.Rename(t.file.Name(), filepath.Join(t.state, lastName))
	}
	if err != nil || t.lost {
		os.Remove(t.file.Name())
	}
}

// fromHere is a path from the current folder on, where that is shorter.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if near := flags.RelativeTo(here, path); len(near) < len(path) {
		return near
	}
	return path
}
