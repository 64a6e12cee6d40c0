package lint

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// quotedName is a name in ARCHITECTURE.md that may be that of a package.
var quotedName = regexp.MustCompile("`([a-z0-9_-]+(?:/[a-z0-9_-]+)*)`")

// row is a line of the tables of packages: the packages of its first column, and all names in it.
type row struct{ packages, names []string }

// packageRows reads the tables of packages in ARCHITECTURE.md.
func packageRows(t *testing.T) []row {
	t.Helper()
	_, after, found := strings.Cut(pages(t)["ARCHITECTURE.md"], "\n## Packages\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no section Packages")
	}
	section, _, _ := strings.Cut(after, "\n## ")
	var list []row
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		list = append(list, row{namesIn(cells[1]), namesIn(line)})
	}
	return list
}

func namesIn(text string) (list []string) {
	for _, m := range quotedName.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// named reports whether a row has a package: in its first column, or as a room below a package that is there.
func (r *row) named(pkg string) bool {
	return slices.ContainsFunc(r.packages, func(p string) bool {
		room, below := strings.CutPrefix(pkg, p+"/")
		return pkg == p || below && slices.Contains(r.names, room)
	})
}

// ARCHITECTURE.md names every package. Programs below bench and examples have pages of their own.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	rows := packageRows(t)
	missing := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "bench/") || missing[s.pkg] {
			continue
		}
		if !slices.ContainsFunc(rows, func(r row) bool { return r.named(s.pkg) }) {
			missing[s.pkg] = true
			t.Errorf("ARCHITECTURE.md does not say what %s is for: give it a row, or name it in the row of %s", s.pkg, path.Dir(s.pkg))
		}
	}
}

func TestPackagesOfArchitectureExist(t *testing.T) {
	for _, r := range packageRows(t) {
		for _, pkg := range r.packages {
			files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*"))
			if err != nil || len(files) == 0 {
				t.Errorf("ARCHITECTURE.md has a row for %s, which does not exist (%v)", pkg, err)
			}
		}
	}
}
