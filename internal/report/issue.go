package report

import (
	"fmt"
	"regexp"
	"strings"
)

// maxTitle bounds the title of an issue, as GitHub does.
const maxTitle = 200

// backticks finds those that would end a fence.
var backticks = regexp.MustCompile("`{3,}")

// Issue writes a failure as the text of an issue of a tracker that reads Markdown: a title as its first line, and the story.
func Issue(s StoryOf) (string, error) {
	var story strings.Builder
	if err := Story(&story, s); err != nil {
		return "", err
	}
	fence := fenceOf(story.String())
	title := strings.Join(strings.Fields(Printable(s.Sentence())), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		title = string(runes[:maxTitle-3]) + "..."
	}
	return fmt.Sprintf("# %s\n\nThe run repeats: `%s`\n\n%stext\n%s\n%s\n", title, s.Replay, fence,
		strings.TrimRight(Printable(story.String()), "\n"), fence), nil
}

// fenceOf is a fence that no line of a text ends.
func fenceOf(text string) string {
	fence := "```"
	for _, run := range backticks.FindAllString(text, -1) {
		fence = strings.Repeat("`", max(len(fence), len(run)+1))
	}
	return fence
}
