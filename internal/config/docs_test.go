package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

const (
	reference = "../../docs/reference/"
	keysBegin = "<!-- keys: written by `go test ./internal/config -update` -->\n"
	keysEnd   = "<!-- keys: end -->\n"
	tableHead = "\n| key | value (default) | meaning |\n|---|---|---|\n"
	docsWidth = 150
)

// configPages are the pages below docs/reference/config, each with the keys of bloodhound.yaml that it lists.
var configPages = []struct {
	name string
	tops []string
}{
	{"nodes", []string{"nodes"}},
	{"networks", []string{"networks", "network", "links"}},
	{"simulation", []string{"simulation"}},
	{"workload", []string{"workload", "workloads"}},
	{"properties", []string{"properties"}},
	{"faults", []string{"faults"}},
	{"exploration", []string{"exploration"}},
	{"output", []string{"output", "coverage", "debug"}},
}

// aliases are mappings whose keys another place describes: `as` in the tables, or a page if that is empty.
var aliases = []struct{ prefix, as, where string }{
	{"faults.rules[].", "", "the [clauses](../faults.md#rules) of a sentence"},
	{"exploration.guide.", "properties[].check.", "the same keys of [`properties[].check`](properties.md#keys)"},
	{"properties[].allow.", "nodes.NAME.allow.", "the same keys of [`nodes.NAME.allow`](nodes.md#keys)"},
	{"nodes.NAME.secrets[].", "nodes.NAME.configs[].", "the same keys of `nodes.NAME.configs`; the default `target` is /run/secrets/NAME"},
	{"links[].", "network.", "the same keys of `network`"},
}

// The pages of the reference list every key of bloodhound.yaml, Compose files, live.yaml and federation.yaml.
func TestDocs(t *testing.T) {
	writeKeys(t, "config.md", &schema.Shape{}, topTable())
	listed := map[string]bool{}
	for _, page := range configPages {
		shape := schema.Shape{Kind: schema.Section}
		for _, top := range page.tops {
			shape.Fields = append(shape.Fields, *keys.Bloodhound.Field(top))
			listed[top] = true
		}
		writeKeys(t, "config/"+page.name+".md", &shape, keyTables(&shape))
	}
	for _, f := range keys.Bloodhound.Fields {
		if kind := f.Shape.Kind; !listed[f.Name] && (kind == schema.Section || kind == schema.Sequence) {
			t.Errorf("no page lists the keys of %s", f.Name)
		}
	}
	writeKeys(t, "compose.md", &keys.Compose, composeTables())
	writeKeys(t, "live.md", &keys.Live, keyTables(&keys.Live))
	writeKeys(t, "federation.md", &keys.Federation, keyTables(&keys.Federation))
	writeKeys(t, "exploration.md", &schema.Shape{}, strategyTable())
}

// writeKeys compares the generated part of a page with want, or writes it, and looks for every key of root in the page.
func writeKeys(t *testing.T, page string, root *schema.Shape, want string) {
	t.Helper()
	name := reference + page
	want = linked(page, want)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), keysBegin)
	old, after, ok2 := strings.Cut(rest, keysEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the keys", page)
	}
	if *update {
		if err := os.WriteFile(name, []byte(before+keysBegin+want+keysEnd+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Errorf("the keys in %s are not up to date; rewrite them with -update", page)
	}
	schema.WalkKeys(root, "", func(path string, f *schema.Field) {
		shown := shownKey(path)
		if f.Shape.Kind == schema.Section && strings.Contains(string(text), "`"+shown+".") || onComposePage(shown, f) {
			return
		}
		if !strings.Contains(string(text), "`"+shown+"`") {
			t.Errorf("%s does not mention %s", page, shown)
		}
	})
}

// topTable lists the keys at the top of bloodhound.yaml, with links to the pages of their sections.
func topTable() string {
	var b strings.Builder
	b.WriteString(tableHead)
	for i := range keys.Bloodhound.Fields {
		f := &keys.Bloodhound.Fields[i]
		shown := "`" + f.Name + "`"
		for _, page := range configPages {
			if slices.Contains(page.tops, f.Name) {
				shown = fmt.Sprintf("[%s](config/%s.md)", shown, page.name)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", shown, valueCell(f), f.Says)
	}
	b.WriteString("\n")
	return b.String()
}

// keyTables lists the keys of a mapping: those with an effect, the accepted ones without, and those that are refused. A mapping of fixed
// keys has no row, since its keys have some.
func keyTables(root *schema.Shape) string {
	var b strings.Builder
	var idle, refused groups
	spellings := spellingsOf(root)
	shownBefore := map[string]bool{}
	like := map[string][]string{} // keys of a place of aliases, by its prefix
	schema.WalkKeys(root, "", func(path string, f *schema.Field) {
		shown := shownKey(path)
		for _, a := range aliases {
			rest, ok := strings.CutPrefix(shown, a.prefix)
			if ok && !shownBefore[shown] && (a.as == "" || keyNamed(a.as+rest) != nil) {
				like[a.prefix] = append(like[a.prefix], "`"+shown+"`")
				shownBefore[shown] = true
			}
		}
	})
	kinds := ""
	if root.Field("faults") != nil {
		kinds = kindTable(shownBefore, spellings)
	}
	b.WriteString(tableHead)
	schema.WalkKeys(root, "", func(path string, f *schema.Field) {
		shown := shownKey(path)
		for _, a := range aliases {
			if list := like[a.prefix]; len(list) > 0 && list[0] == "`"+shown+"`" {
				fmt.Fprintf(&b, "| %s | | As %s. |\n", strings.Join(list, ", "), a.where)
				like[a.prefix] = nil
			}
		}
		switch {
		case shownBefore[shown] || f.SpellingOf != "":
		case onComposePage(shown, f) || f.Shape.Kind == schema.Section:
		case f.Refused != "":
			refused.add(f.Refused, shown)
		case f.Idle != "":
			idle.add(f.Idle, shown)
		default:
			names := append([]string{"`" + shown + "`"}, spellings[shown]...)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(names, ", "), valueCell(f), escaped(f.Says))
		}
		shownBefore[shown] = true
	})
	b.WriteString(kinds)
	b.WriteString(idle.table("Keys without effect", "why"))
	b.WriteString(refused.table("Refused keys", "what to do"))
	b.WriteString("\n")
	return b.String()
}

// kindTable lists the keys of single kinds of faults, and marks them as shown.
func kindTable(shown map[string]bool, spellings map[string][]string) string {
	cell := func(group, key string) string {
		if key == "" {
			return ""
		}
		path := "faults." + group + "." + key
		shown[path] = true
		text := strings.Join(append([]string{"`" + path + "`"}, spellings[path]...), ", ")
		if f := keyNamed(path); f.Default != "" {
			text += " (" + f.Default + ")"
		}
		return text
	}
	var b strings.Builder
	b.WriteString("\n### Single kinds\n\n| kind | rate | duration (default) |\n|---|---|---|\n")
	for i := range fault.Table {
		row := &fault.Table[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Kind, cell(row.Keys.Group, row.Keys.Rate), cell(row.Keys.Group, row.Keys.Duration))
	}
	return b.String()
}

// onComposePage reports whether a key of nodes has no effect, or is refused, for the reason that docs/reference/compose.md gives for services.
func onComposePage(shown string, f *schema.Field) (listed bool) {
	rest, ofNode := strings.CutPrefix(shown, "nodes.NAME.")
	if !ofNode || f.Idle+f.Refused == "" {
		return false
	}
	schema.WalkKeys(&keys.Compose, "", func(path string, c *schema.Field) {
		listed = listed || shownKey(path) == "services.NAME."+rest && c.Idle == f.Idle && c.Refused == f.Refused
	})
	return listed
}

// spellingsOf has the other spellings of keys, by the usual one.
func spellingsOf(root *schema.Shape) map[string][]string {
	list := map[string][]string{}
	schema.WalkKeys(root, "", func(path string, f *schema.Field) {
		if f.SpellingOf != "" {
			parent, _ := schema.Split(shownKey(path))
			usual, spelling := schema.Join(parent, f.SpellingOf), "`"+shownKey(path)+"`"
			if !slices.Contains(list[usual], spelling) {
				list[usual] = append(list[usual], spelling)
			}
		}
	})
	return list
}

// groups are keys by their reason, in order.
type groups struct {
	reasons []string
	keys    map[string][]string
}

func (g *groups) add(reason, key string) {
	if g.keys == nil {
		g.keys = map[string][]string{}
	}
	if g.keys[reason] == nil {
		g.reasons = append(g.reasons, reason)
	}
	g.keys[reason] = append(g.keys[reason], "`"+key+"`")
}

func (g *groups) table(title, column string) string {
	if len(g.reasons) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| key | %s |\n|---|---|\n", title, column)
	for _, reason := range g.reasons {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(g.keys[reason], ", "), escaped(reason))
	}
	return b.String()
}

func escaped(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// pageNames are pages of the reference that descriptions of keys name.
var pageNames = regexp.MustCompile(`\(docs/reference/([a-z/]+)\.md(#[a-z-]+)?\)`)

// linked turns the names of pages into links from a page below docs/reference.
func linked(page, text string) string {
	return pageNames.ReplaceAllString(text, "([$1]("+strings.Repeat("../", strings.Count(page, "/"))+"$1.md$2))")
}

// valueCell says how a key is written, and its default in brackets. Words that the meaning explains are not listed twice.
func valueCell(f *schema.Field) string {
	value := valueWord(&f.Shape)
	if len(f.Shape.Words) > 2 && !slices.ContainsFunc(f.Shape.Words, func(w string) bool { return !strings.Contains(f.Says, w) }) {
		value = "word"
	}
	if f.Default != "" {
		value += " (" + f.Default + ")"
	}
	return value
}

// valueWord names the values of a shape. docs/reference/config.md explains the words.
func valueWord(s *schema.Shape) string {
	bounded := func(word string) string {
		switch {
		case s.Max != 0:
			return fmt.Sprintf("%s, %s to %s", word, decimal(s.Min), decimal(s.Max))
		case s.Min != 0:
			return fmt.Sprintf("%s from %s", word, decimal(s.Min))
		}
		return word
	}
	switch s.Kind {
	case schema.Word:
		if slices.Equal(s.Words, keys.FaultKinds) {
			return "kind of fault"
		}
		return strings.Join(s.Words, ", ")
	case schema.Whole, schema.Unsigned:
		return bounded("integer")
	case schema.Number:
		return bounded("number")
	case schema.Size:
		if s.Min > 1<<20 {
			return fmt.Sprintf("size from %dm", int64(s.Min)>>20)
		}
		return "size"
	case schema.Sequence:
		if s.Item.Kind == schema.Word {
			return "list of " + valueWord(s.Item)
		}
		return "list"
	case schema.Either:
		var names []string
		for i := range s.Alts {
			name := valueWord(&s.Alts[i])
			if strings.HasPrefix(name, "list") && len(names) > 0 && strings.HasSuffix(name, names[0]) {
				name = "list"
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return strings.Join(names, " or ")
	}
	return map[string]string{
		"true or false": "boolean", "a rate from 0 to 1": "rate", "a duration such as 30s": "duration",
		"a duration such as 30s or -2ms": "signed duration", "a number of milliseconds": "number", "a number of seconds": "number",
		"a range [a, b] in milliseconds, or one number": "range", "a date such as 2025-01-01T00:00:00Z": "date",
		"a regular expression": "regexp", "a mapping NAME: value or a list of NAME=value": "variables",
		"a mapping": "mapping", "text": "text", "anything": "anything",
	}[s.String()]
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// strategyTable says of each strategy which tape it plays next: the default comes first, and neighbours that play the same are one row.
func strategyTable() string {
	var b strings.Builder
	b.WriteString("\n| strategy | next tape |\n|---|---|\n")
	list := slices.DeleteFunc(slices.Clone(search.Kinds), func(k search.Kind) bool { return k.Scheduled })
	first := slices.IndexFunc(list, func(k search.Kind) bool { return k.Name == search.Default })
	list = slices.Insert(slices.Delete(list, first, first+1), 0, *search.KindOf(search.Default))
	for i := 0; i < len(list); i++ {
		next := list[i].Next
		names := "`" + list[i].Name + "`"
		for ; i+1 < len(list) && list[i+1].Next == next; i++ {
			names += ", `" + list[i+1].Name + "`"
		}
		if list[i].Name == search.Default {
			names += " (the default)"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", names, next)
	}
	b.WriteString("\n")
	return b.String()
}

// composeTables lists the keys of Compose files: those that nodes also have, those of Compose alone, and those without effect or refused.
func composeTables() string {
	var b strings.Builder
	var nodes []string
	var idle, refused groups
	var rows strings.Builder
	own := func(rest string) bool { return strings.HasPrefix(rest, "build") || strings.HasPrefix(rest, "extends") }
	schema.WalkKeys(&keys.Compose, "", func(path string, f *schema.Field) {
		shown := shownKey(path)
		rest, ofService := strings.CutPrefix(shown, "services.NAME.")
		switch {
		case f.Refused != "":
			refused.add(f.Refused, shown)
		case f.Idle != "":
			idle.add(f.Idle, shown)
		case ofService && !own(rest) && keyNamed("nodes.NAME."+rest) != nil, keyNamed(shown) != nil && shown != "name":
			if !slices.Contains(nodes, "`"+shown+"`") {
				nodes = append(nodes, "`"+shown+"`")
			}
		default:
			fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", shown, valueCell(f), escaped(f.Says))
		}
	})
	b.WriteString("\n### Keys of Compose alone\n" + tableHead + rows.String())
	b.WriteString("\n### Keys that nodes and networks also have\n\n" +
		"[Nodes](config/nodes.md#keys) and [networks](config/networks.md#keys) describe them.\n\n")
	b.WriteString(wrapped(nodes) + "\n")
	b.WriteString(idle.table("Keys without effect", "why"))
	b.WriteString(refused.table("Refused keys", "what to do"))
	b.WriteString("\n")
	return b.String()
}

// wrapped joins words by commas, in lines of a page.
func wrapped(words []string) string {
	var b strings.Builder
	column := 0
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		switch {
		case i > 0 && column+1+len(word) > docsWidth:
			b.WriteString("\n")
			column = 0
		case i > 0:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// keyNamed finds a key of bloodhound.yaml by the name that the pages show.
func keyNamed(shown string) (found *schema.Field) {
	schema.WalkKeys(&keys.Bloodhound, "", func(path string, f *schema.Field) {
		if found == nil && shownKey(path) == shown {
			found = f
		}
	})
	return found
}

// shownKey writes a key as the pages do: workloads have the keys of workload, and each form of `allow` has the same keys.
func shownKey(path string) string {
	path = strings.Replace(path, "workloads[]", "workload", 1)
	path = strings.Replace(path, "allow[]", "allow", 1)
	return strings.Replace(path, ".*", ".NAME", 1)
}
