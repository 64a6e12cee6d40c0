package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// CommentOf is the input of a comment on a change.
type CommentOf struct {
	Totals    *explore.Totals
	Status    explore.Status
	Judgement string
	ExitCode  int
	Since     string // the revision whose successors are new code; empty if none was named
	Arguments string // name the project on a command line, with a space before them
	TookNs    int64
	BudgetNs  int64 // 0 is none
	// Stories holds the stories of the failures that were found, in order.
	Stories []StoryOf
}

// Bounds of a comment: GitHub's is 65,536 characters.
const (
	commentStory   = 12_000 // bytes of each story, whose end is left out
	commentStories = 4
	commentLines   = 20
)

// Comment writes what the reviewer of a change needs to know, in Markdown: failures first, then what was not judged, and what was done.
func Comment(w io.Writer, c CommentOf) error {
	var b strings.Builder
	t := c.Totals
	headline, _, _ := strings.Cut(c.Judgement, "\n")
	fmt.Fprintf(&b, "### Bloodhound: %s\n\n", markdownText(headline))
	c.failures(&b)
	c.known(&b)
	c.unsteady(&b)
	list(&b, "Not judged", c.Status.Unknown)
	for _, code := range t.Code {
		if c.Since != "" && code.Changed > 0 {
			fmt.Fprintf(&b, "- Changed code of %s: %d of %d %s ran.\n", inline(code.Path), code.ChangedCovered, code.Changed, code.Source.Blocks())
		}
	}
	fmt.Fprintf(&b, "- %s in %s", plural.Count(t.Runs, "run"), time.Duration(c.TookNs).Round(time.Second))
	if c.BudgetNs > 0 {
		fmt.Fprintf(&b, " of a budget of %s", time.Duration(c.BudgetNs))
	}
	fmt.Fprintf(&b, "; seed %d; exit code %d.\n", t.Seed, c.ExitCode)
	list(&b, "Notes", c.Status.Notices)
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *CommentOf) failures(b *strings.Builder) {
	t := c.Totals
	for i, f := range t.Failures {
		fmt.Fprintf(b, "**%s is violated** in %s: %s\n\n", markdownText(f.Property), showed(f, t.Runs), inline(f.Headline))
		fmt.Fprintf(b, "Run it again: `bloodhound replay %s%s`\n\n", f.ID, c.Arguments)
		if i >= commentStories || i >= len(c.Stories) {
			continue
		}
		var story strings.Builder
		if Story(&story, c.Stories[i]) != nil {
			continue
		}
		text := Printable(story.String())
		if len(text) > commentStory {
			text = text[:strings.LastIndexByte(text[:commentStory], '\n')+1] + "...\n"
		}
		fence := fenceOf(text)
		fmt.Fprintf(b, "<details><summary>Story</summary>\n\n%stext\n%s\n%s\n\n</details>\n\n", fence, strings.TrimRight(text, "\n"), fence)
	}
	if t.MoreFailures > 0 {
		fmt.Fprintf(b, "%s of other signatures not listed.\n\n", plural.Count(t.MoreFailures, "violation"))
	}
}

func (c *CommentOf) known(b *strings.Builder) {
	if len(c.Totals.Committed) == 0 {
		return
	}
	b.WriteString("| known failure | property | now |\n|---|---|---|\n")
	for _, k := range c.Totals.Committed {
		fmt.Fprintf(b, "| %s | %s | %s |\n", inline(k.File), inline(k.Property), k.Standing)
	}
	b.WriteString("\n")
}

func (c *CommentOf) unsteady(b *strings.Builder) {
	for _, u := range c.Totals.Unsteady {
		what := "It counts as a violation."
		if !u.Confirmed() {
			what = "It does not count as a violation, and the exit code says that a run is not reproducible."
		}
		fmt.Fprintf(b, "**Not reproducible:** %s: %s. %s Its replay differs: %s\n\n", markdownText(u.String()),
			inline(u.Verdict.Reason), what, inline(u.Differs))
	}
	if u := c.Totals.FirstUnrepeatable; u != nil && len(c.Totals.Unsteady) == 0 {
		fmt.Fprintf(b, "**Not reproducible:** %s. The first: %s: %s\n\n", were(c.Totals.Unrepeatable), markdownText(u.String()), inline(u.Reason))
	}
}

// list writes a heading and lines, if there are any.
func list(b *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "- %s:\n", heading)
	for i, line := range lines {
		if i == commentLines {
			fmt.Fprintf(b, "  - and %d more\n", len(lines)-i)
			break
		}
		fmt.Fprintf(b, "  - %s\n", inline(line))
	}
}

// inline is a text that programs may have written as one line of code in Markdown. It also fits a cell of a table.
func inline(text string) string {
	text = strings.ReplaceAll(Visible(text, pageLineRunes), "|", "¦")
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// markdownText is one line of prose in which nothing is a mark of Markdown or HTML, and no name of a person is notified.
func markdownText(text string) string {
	var b strings.Builder
	for _, r := range Visible(text, pageLineRunes) {
		if strings.ContainsRune("\\`*_{}[]<>()#|~&@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
