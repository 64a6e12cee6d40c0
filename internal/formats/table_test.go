package formats

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "rewrite the table of formats in docs/reference/histories.md")

// Each format is recognized by its name or by how it begins, also where it resembles another one.
func TestRecognize(t *testing.T) {
	const porcupine = `{:process 0, :type :invoke, :f :get, :key "x", :value nil}`
	for _, c := range []struct {
		name, start string
		want        Format
	}{
		{"x.edn", `{"client":"a","op":"read"}`, EDN},
		{"x.bincode", "w(0,1,1,1)", Bincode},
		{"x.json", "", Records},
		{"", "", Records},
		{"", "nothing known", Records},
		{"", `{"client":"a","op":"read"}`, Records},
		{"", `[{"n":1,"op":"read"}]`, Records},
		{"", `{"type":"invoke","process":0}`, JepsenJSON},
		{"", `[ {"f":"read"}]`, JepsenJSON},
		{"", "{:type :invoke, :f :read}", EDN},
		{"", " [{ :f :read}]", EDN},
		{"", "; a comment\n", EDN},
		{"", "#jepsen.history.Op{:f :read}", EDN},
		{"", "INFO  jepsen.util - 0 :invoke :read nil\n", JepsenLog},
		{"", "; began\nINFO  jepsen.util - 0\t:invoke\t:read\tnil\n", JepsenLog},
		{"", porcupine, Porcupine},
		{"", porcupine + "\nINFO  jepsen.util - 0 :invoke :read nil\n", JepsenLog},
		{"", " \nw(0,1,1,1)\n", Plume},
		{"", "w(0,1,1,1)\nINFO  jepsen.util - 0 :invoke :read nil\n", Plume},
		{"", "w 0 1\n", Awdit},
		{"", "=====\nw 0 1\n", Awdit},
		{"", "-----\nr 0 1\n", Awdit},
		{"", "-----\n[x:=1]\n", DBCop},
		{"", "// a comment\n", DBCop},
		{"", "[x := 1]", DBCop},
		{"", "[]", DBCop},
		{"", `{"params":{}}`, DBCopJS},
		{"", "[[]]", DBCopJS},
		{"", `[[{"events":[]}]]`, DBCopJS},
	} {
		if got := Recognize(c.name, []byte(c.start)); got != c.want {
			t.Errorf("%s %q is taken for %s, not %s", c.name, c.start, got, c.want)
		}
	}
}

// A folder is the history of the format whose files are its own, and the error names the files of all.
func TestFolders(t *testing.T) {
	_, err := ReadFolder(fstest.MapFS{"readme": {}})
	const want = "the folder has no history.bincode, no *.log of Cobra and no J*.log of Viper; name a history first, and the folder after it"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	viper := &fstest.MapFile{Data: []byte(`{"value":[["w",1,2]]}`)}
	stored := &fstest.MapFile{Data: bincode([][][][4]uint64{{{{1, 0, 1, 1}}}})}
	for want, folder := range map[string]fstest.MapFS{
		`J1 ok [["w",1,2]]`:        {"J1.log": viper},
		`session 1 ok [["w",0,1]]`: {"J1.log": viper, "history.bincode": stored},
		`A ok [["w",4,77]]`:        {"A.log": {Data: cobra('S', 5, 'W', 77, 4, 1, 'C', 5)}},
	} {
		if events, err := ReadFolder(folder); err != nil || told(t, events) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A row can be recognized and read, and the documentation has it. -update writes the table of the page.
func TestTable(t *testing.T) {
	const page, head = "../../docs/reference/histories.md", "| format | content |\n|---|---|\n"
	var rows strings.Builder
	first := -1 // row of a format of sessions
	for i, r := range Table {
		if r.Sessions && first < 0 {
			first = i
		}
		if r.Sessions != (first >= 0) {
			t.Errorf("%s: formats of sessions come last", r.Format)
		}
		if (r.ReadFolder == nil) != (r.Files == "") || r.OfFolder() && r.ReadFolder == nil || r.Content == "" ||
			r.Read != nil && r.Begins == nil && r.Extension == "" {
			t.Errorf("the row of %s is not complete", r.Format)
		}
		if slices.ContainsFunc(Table[:i], func(other Row) bool { return other.Format == r.Format }) {
			t.Errorf("%s has two rows", r.Format)
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", r.Format, r.Content)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	is, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table of formats", page)
	}
	if is+"\n" != rows.String() {
		if !*update {
			t.Fatalf("the formats in %s differ from the table; rewrite them: go test ./internal/formats -update", page)
		}
		if err := os.WriteFile(page, []byte(before+head+rows.String()+"\n"+after), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want := fmt.Sprintf("Formats from %s on have sessions and no times.", Table[first].Format); !strings.Contains(after, want) {
		t.Errorf("%s lacks: %s", page, want)
	}
}
