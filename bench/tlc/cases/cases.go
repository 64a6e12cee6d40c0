// Package cases has specifications that were written by hand, each for one question about the language or about how TLC counts, with the answers of TLC.
package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
)

// Root is the module that is checked.
const Root = "M"

// Case is a specification with TLC's answer.
type Case struct {
	Title string
	Names []string          // of the files, in their order
	Files map[string]string // by name
	TLC   random.Answer
}

const (
	caseHead = "## "
	answered = "-- TLC --\n"
)

var fileHead = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// Read takes the text of testdata/cases.txt apart. The text before the first case is a comment.
func Read(text string) (comment string, list []Case, err error) {
	parts := strings.Split("\n"+text, "\n"+caseHead)
	for _, part := range parts[1:] {
		title, body, _ := strings.Cut(part, "\n")
		body, answer, found := strings.Cut(body, answered)
		c := Case{Title: title, Files: map[string]string{}}
		heads := fileHead.FindAllStringSubmatchIndex(body, -1)
		for i, head := range heads {
			end := len(body)
			if i+1 < len(heads) {
				end = heads[i+1][0]
			}
			name := body[head[2]:head[3]]
			c.Names = append(c.Names, name)
			c.Files[name] = strings.TrimRight(body[head[1]:end], "\n") + "\n"
		}
		if found {
			if c.TLC, err = random.ParseAnswer(strings.TrimRight(answer, "\n")); err != nil {
				return "", nil, fmt.Errorf("%s: %w", title, err)
			}
		}
		list = append(list, c)
	}
	return strings.TrimPrefix(parts[0], "\n"), list, nil
}

// Write is the inverse of Read.
func Write(comment string, list []Case) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(comment, "\n") + "\n")
	for _, c := range list {
		fmt.Fprintf(&b, "\n%s%s\n", caseHead, c.Title)
		for _, name := range c.Names {
			fmt.Fprintf(&b, "-- %s --\n%s", name, c.Files[name])
		}
		fmt.Fprintf(&b, "%s%v\n", answered, c.TLC)
	}
	return b.String()
}

// Put writes the files of a case to a folder.
func (c *Case) Put(folder string) error {
	for name, text := range c.Files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
