package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/docs"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func docsVerb(a *console.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "docs [TOPIC]",
		Short: "Read the documentation of this version, offline",
		Long: "Print a page of the documentation as Markdown. TOPIC is the name of a page, such as faults or config/faults, or " +
			"its first letters. The name of a command prints the command's page. Without a topic, list the pages.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPages(a)
			}
			return printPage(a, args[0])
		},
	}
	c.AddCommand(&cobra.Command{
		Use:   "search WORD...",
		Short: "Find the sections of the documentation that contain some words",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("docs search needs words to search for: bloodhound docs search WORD...")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return searchPages(a, args) },
	})
	return c
}

// docsPage is a page of the documentation.
type docsPage struct {
	topic string // the file's path without its first folder and the ending
	file  string
	title string
	text  string
}

// pages are all of them, in the order of their folders.
func pages() (list []docsPage) {
	err := fs.WalkDir(docs.Pages, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(docs.Pages, file)
		if err != nil {
			return err
		}
		title, _, _ := strings.Cut(string(text), "\n")
		list = append(list, docsPage{topicOf(file), file, strings.TrimPrefix(title, "# "), string(text)})
		return nil
	})
	if err != nil {
		panic(err) // the pages are part of the program
	}
	slices.SortStableFunc(list, func(x, y docsPage) int { return strings.Compare(path.Dir(x.file), path.Dir(y.file)) })
	return list
}

// topicOf names a page by its path: faults for reference/faults.md, config/faults for reference/config/faults.md.
func topicOf(file string) string {
	if _, below, ok := strings.Cut(file, "/"); ok {
		file = below
	}
	return strings.TrimSuffix(file, ".md")
}

func listPages(a *console.App) error {
	folder := ""
	for _, p := range pages() {
		if p.topic == "README" {
			continue
		}
		if dir := path.Dir(p.file); dir != folder && dir != "." {
			folder = dir
			fmt.Fprintf(a.Out, "%s\n", dir)
		}
		fmt.Fprintf(a.Out, "  %-36s %s\n", p.topic, p.title)
	}
	fmt.Fprint(a.Out, "\n`bloodhound docs TOPIC` prints a page. `bloodhound docs search WORD...` searches all pages.\n")
	return nil
}

// printPage prints the page of a topic. Where a command and a page of the reference share a name, it prints both, the command's first.
func printPage(a *console.App, topic string) error {
	var found []string
	for _, p := range pagesNamed(topic) {
		found = append(found, withoutMarks(p.text))
	}
	if len(found) > 0 {
		fmt.Fprint(a.Out, strings.Join(found, "\n"))
		return nil
	}
	var topics []string
	for _, p := range pages() {
		topics = append(topics, p.topic)
	}
	remedy := "`bloodhound docs` lists the pages"
	if near := suggest.Nearest(strings.ToLower(topic), topics); near != "" {
		remedy = fmt.Sprintf("did you mean %s? %s", near, remedy)
	}
	return fmt.Errorf("there is no page %q; %s, and `bloodhound docs search %s` searches for the word", topic, remedy, topic)
}

// pagesNamed finds pages by their path; else by the name of a command and a topic; else one by the last part of its topic,
// or the beginning of that.
func pagesNamed(topic string) []docsPage {
	all := pages()
	wanted := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(topic, "docs/"), ".md"))
	atPath := func(p docsPage) bool { return strings.ToLower(strings.TrimSuffix(p.file, ".md")) == wanted }
	command := func(p docsPage) bool { return strings.ToLower(p.topic) == "commands/"+wanted }
	named := func(p docsPage) bool { return strings.ToLower(p.topic) == wanted }
	ends := func(p docsPage) bool { return path.Base(strings.ToLower(p.topic)) == path.Base(wanted) }
	begins := func(p docsPage) bool {
		return strings.HasPrefix(path.Base(strings.ToLower(p.topic)), path.Base(wanted))
	}
	var found []docsPage
	for _, group := range [][]func(docsPage) bool{{atPath}, {command, named}, {ends}, {begins}} {
		for _, is := range group {
			if i := slices.IndexFunc(all, is); i >= 0 {
				found = append(found, all[i])
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// withoutMarks removes the marks of generated parts from a page.
func withoutMarks(text string) string { return marks.ReplaceAllString(text, "") }

var marks = regexp.MustCompile(`(?m)^<!-- .* -->\n\n?`)

const (
	maxFound    = 20                       // sections that a search prints
	docsColumns = report.ScreenColumns - 4 // of a line below its heading
)

// fillers are words that a question has and no section is found by.
var fillers = []string{"a", "after", "an", "and", "at", "do", "for", "how", "i", "in", "is", "my", "of", "on", "or", "the", "to", "with"}

// searchPages prints the sections that have all of some words, those first whose heading has them. Where there is none, it prints those that have
// most of them.
func searchPages(a *console.App, args []string) error {
	all := strings.Fields(strings.ToLower(strings.Join(args, " ")))
	words := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return slices.Contains(fillers, w) })
	if len(words) == 0 {
		words = all
	}
	type found struct {
		page             docsPage
		section          docsSection
		words, inHeading int
	}
	var list []found
	most := 0
	for _, p := range pages() {
		for _, s := range sections(p.text) {
			if n, heading := s.matches(words); n > 0 {
				list = append(list, found{p, s, n, heading})
				most = max(most, n)
			}
		}
	}
	if len(list) == 0 {
		return fmt.Errorf("no section has %s; `bloodhound docs` lists the pages", strings.Join(words, " or "))
	}
	list = slices.DeleteFunc(list, func(f found) bool { return f.words < most })
	if most < len(words) {
		a.Note("no section has all of these words; showing sections with %d of %d", most, len(words))
	}
	slices.SortStableFunc(list, func(x, y found) int { return y.inHeading - x.inHeading })
	for i, f := range list {
		if i == maxFound {
			fmt.Fprintf(a.Out, "and %d more; add words to narrow the search\n", len(list)-i)
			break
		}
		fmt.Fprintf(a.Out, "%s: %s\n    %s\n", f.page.topic, f.section.heading, report.Fit(f.section.line(words), docsColumns))
	}
	return nil
}

// docsSection is a part of a page below a heading.
type docsSection struct{ heading, text string }

// sections parts a page at its headings.
func sections(text string) (list []docsSection) {
	for _, line := range strings.Split(text, "\n") {
		if heading := strings.TrimLeft(line, "#"); len(heading) < len(line) && strings.HasPrefix(heading, " ") {
			list = append(list, docsSection{heading: strings.TrimSpace(heading)})
			continue
		}
		if len(list) > 0 {
			list[len(list)-1].text += line + "\n"
		}
	}
	return list
}

// matches counts the words, in small letters, that a section has, and those that its heading has.
func (s *docsSection) matches(words []string) (found, inHeading int) {
	heading, text := strings.ToLower(s.heading), strings.ToLower(s.text)
	for _, w := range words {
		switch {
		case strings.Contains(heading, w):
			found++
			inHeading++
		case strings.Contains(text, w):
			found++
		}
	}
	return found, inHeading
}

// line is the first line of a section that has one of some words, or its first one.
func (s *docsSection) line(words []string) string {
	lines := strings.Split(strings.TrimSpace(s.text), "\n")
	for _, line := range lines {
		for _, w := range words {
			if strings.Contains(strings.ToLower(line), strings.ToLower(w)) {
				return line
			}
		}
	}
	return lines[0]
}
