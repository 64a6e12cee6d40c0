package tla

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the results of testdata/*.txt anew")

var fileHead = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// check checks the module M of some files, and reports the outcome.
func check(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	result := func() string {
		config, err := ReadConfig(filepath.Join(dir, "M.cfg"))
		if err != nil {
			return err.Error()
		}
		spec, err := Load(filepath.Join(dir, "M.tla"), config)
		if err != nil {
			return err.Error()
		}
		r, err := Check(spec, Options{Distinct: 10_000})
		switch {
		case err != nil:
			return err.Error()
		case len(r.Violations) > 0:
			return fmt.Sprintf("%s %s is violated", r.Violations[0].Kind, r.Violations[0].Name)
		}
		if r.Stopped != "" {
			return "no error, when it was stopped"
		}
		return fmt.Sprintf("no error, %d states", r.Distinct)
	}()
	return strings.ReplaceAll(strings.ReplaceAll(result, dir+string(filepath.Separator), ""), dir, "the folder")
}

// TestCases reads testdata/cases.txt: cases that begin with ##, each with files and what is said of them.
func TestCases(t *testing.T) {
	file := filepath.Join("testdata", "cases.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n## ")
	out := head
	for _, c := range strings.Split(rest, "\n## ") {
		title, body, _ := strings.Cut(c, "\n")
		files := map[string]string{"M.cfg": "INIT Init\nNEXT Next\n"}
		at := fileHead.FindAllStringSubmatchIndex(body, -1)
		for i, m := range at {
			end := len(body)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			files[body[m[2]:m[3]]] = body[m[1]:end]
		}
		want := strings.TrimRight(files["result"], "\n")
		delete(files, "result")
		got := check(t, files)
		if got != want && !*update {
			t.Errorf("%s:\n%s\nwant\n%s", title, got, want)
		}
		kept, _, _ := strings.Cut(body, "-- result --\n")
		out += "\n## " + title + "\n" + strings.TrimRight(kept, "\n") + "\n-- result --\n" + got + "\n"
	}
	if *update {
		if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEndlessEvaluation stops a check whose first state takes as good as forever to find.
func TestEndlessEvaluation(t *testing.T) {
	for _, endless := range []string{
		`\E a, b, c \in 1..1000000 : a + b + c < 0`,
		`\A a \in 1..1000000 : \A b \in 1..1000000 : a + b > 0`,
		`{a \in SUBSET (1..20) : \E b \in SUBSET (1..20) : a \cup b = {0}} # {}`,
		`(CHOOSE f \in [1..9 -> 1..9] : \E g \in [1..9 -> 1..9] : f[1] + g[1] < 0) = <<>>`,
		`LET RECURSIVE F(_) F(n) == IF n = 0 THEN 1 ELSE F(n - 1) + F(n - 1) IN F(60) = 0`,
		`Len([i \in 1..1000000 |-> \E j \in 1..1000000 : i + j < 0]) = 0`,
	} {
		r, err := stopped(t, "---- MODULE M ----\nEXTENDS Naturals, Sequences\nVARIABLE x\nInit == x = 0 /\\ "+endless+
			"\nNext == x' = x\n====", "INIT Init NEXT Next")
		if err != nil || r.Stopped == "" {
			t.Errorf("%s: %v, stopped by %q", endless, err, r.Stopped)
		}
	}
}

// stopped checks a module that is told to stop before it begins.
func stopped(t *testing.T, module, configuration string) (*Report, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "M.tla")
	if err := os.WriteFile(file, []byte(module), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := ParseConfig("M.cfg", configuration)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Load(file, config)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	close(stop)
	return Check(spec, Options{Stop: stop})
}

// TestEndlessSymmetry stops a check under SYMMETRY over nine model values, whose 362,880 permutations take long for each state.
func TestEndlessSymmetry(t *testing.T) {
	for _, permutations := range []string{"Permutations(S)", `Permutations(S) \cup Permutations({s \in S : TRUE})`} {
		r, err := stopped(t, "---- MODULE M ----\nEXTENDS TLC\nCONSTANT S\nVARIABLE x\nInit == x \\in [S -> {0, 1}]\nNext == x' = x\nSym == "+
			permutations+"\n====",
			"INIT Init NEXT Next SYMMETRY Sym CONSTANT S = {a, b, c, d, e, f, g, h, i}")
		if err != nil || r.Stopped == "" || r.Distinct > 0 {
			t.Errorf("%s: %d states, %v, stopped by %q", permutations, r.Distinct, err, r.Stopped)
		}
	}
}

// TestAliasOfEachState asks an ALIAS for the level and the behaviour of each state of a counterexample.
func TestAliasOfEachState(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "M.tla")
	text := "---- MODULE M ----\nEXTENDS Naturals, Sequences, TLC, TLCExt\nVARIABLE x\nInit == x = 0\nNext == x' = x + 2\nInv == x < 6\n" +
		"Alias == <<x, TLCGet(\"level\"), Trace[Len(Trace)].x, Len(Trace)>>\n===="
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := ParseConfig("M.cfg", "INIT Init NEXT Next INVARIANT Inv ALIAS Alias")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Load(file, config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(spec, Options{})
	if err != nil || len(r.Violations) != 1 {
		t.Fatal(r.Violations, err)
	}
	var got []string
	for _, s := range r.Violations[0].Trace {
		got = append(got, fmt.Sprint(s.Alias))
	}
	if want := "<<0, 1, 0, 1>> <<2, 2, 2, 2>> <<4, 3, 4, 3>> <<6, 4, 6, 4>>"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}
