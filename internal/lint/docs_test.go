package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link        = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)`)
	fence       = regexp.MustCompile("(?ms)^```.*?^```")
	heading     = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	mention     = regexp.MustCompile(`\b(?:docs|bench|examples)/[A-Za-z0-9/_.-]*\.md\b`)
)

// pages returns the text of each page of the repository by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	list := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, name)
			list[filepath.ToSlash(rel)] = string(text)
			return err
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d pages: %v", len(list), err)
	}
	return list
}

// anchors returns the anchors of a page's headings as GitHub forms them.
func anchors(text string) map[string]bool {
	slugs := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		slugs[strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return slugs
}

func TestLinksOfPagesLead(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := name
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
			}
			if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
				t.Errorf("%s: dead link %s", name, m[1])
			} else if page, ok := all[file]; ok && anchor != "" && !anchors(page)[anchor] {
				t.Errorf("%s: %s has no heading for #%s", name, file, anchor)
			}
		}
	}
}

func TestEveryPageIsInTheIndex(t *testing.T) {
	all := pages(t)
	indexed := map[string]bool{"docs/README.md": true}
	for _, m := range link.FindAllStringSubmatch(all["docs/README.md"], -1) {
		indexed[filepath.ToSlash(filepath.Join("docs", m[1]))] = true
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !indexed[name] {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

// Messages, comments and pages name pages of the documentation by their path from the root.
func TestPagesThatTextNamesExist(t *testing.T) {
	named := map[string]string{}
	for _, s := range sources(t) {
		text, err := os.ReadFile(filepath.Join("..", "..", s.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mention.FindAllString(string(text), -1) {
			named[m] = s.path
		}
	}
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" {
			continue // it names pages that have moved
		}
		for _, m := range mention.FindAllString(link.ReplaceAllString(text, ""), -1) {
			named[m] = name
		}
	}
	for page, by := range named {
		if _, err := os.Stat(filepath.Join("..", "..", page)); err != nil {
			t.Errorf("%s names %s, which does not exist", by, page)
		}
	}
}

// Walks of ARCHITECTURE.md name files in the order in which something passes through them, and none twice.
func TestWalksAreTrue(t *testing.T) {
	text := pages(t)["ARCHITECTURE.md"]
	hop := regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`")
	walks := 0
	for _, section := range strings.Split(text, "\n## ") {
		if !strings.HasPrefix(section, "A walk of ") {
			continue
		}
		walks++
		title, _, _ := strings.Cut(section, "\n")
		visited := map[string]bool{}
		for _, m := range hop.FindAllStringSubmatch(section, -1) {
			if visited[m[1]] {
				t.Errorf("%s visits %s twice", title, m[1])
			}
			visited[m[1]] = true
			if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
				t.Errorf("%s visits %s, which does not exist", title, m[1])
			}
		}
		if len(visited) < 5 || len(visited) > 9 {
			t.Errorf("%s has %d hops", title, len(visited))
		}
	}
	if walks != 3 {
		t.Errorf("%d walks", walks)
	}
}
