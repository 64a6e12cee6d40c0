package federation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// written is a log with entries for two peers.
func written(t *testing.T) (name string, statements [][]byte) {
	name = filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(name, identity("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, peer := range []string{"a", "c", "a", "a"} {
		s, err := l.record(time.UnixMilli(1000), peer, token{1}, Verdict(i).String(), 7, "a", []byte{1, 2, byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, s)
	}
	return name, statements
}

// A log that someone has changed is refused, whatever was changed.
func TestAudit(t *testing.T) {
	name, _ := written(t)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	given, err := Audit(bytes.NewReader(text), "b", identity("b").Public(), nil)
	if err != nil || given["a"].Entries != 3 || given["a"].Bits != 21 || given["c"].Entries != 1 {
		t.Fatalf("%v, %v", given, err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	lines[3] += "\n"
	for what, x := range map[string]struct{ text, err string }{
		"another verdict":       {strings.Replace(string(text), `"said":"accepted"`, `"said":"no effect"`, 1), "line 2: the signature"},
		"fewer bits":            {strings.Replace(string(text), `"bits":7`, `"bits":6`, 1), "line 1: the signature"},
		"another message":       {strings.Replace(string(text), `"message":"010200"`, `"message":"010300"`, 1), "line 1: the message"},
		"an entry taken out":    {lines[0] + lines[1] + lines[3], "line 3: entry 3 of peer a"},
		"the first taken out":   {lines[1] + lines[2] + lines[3], "line 2: entry 2 of peer a"},
		"an entry put in again": {lines[0] + lines[0], "line 2: entry 1 of peer a"},
		"entries in disorder":   {lines[2] + lines[0], "line 1: entry 2 of peer a"},
		"another field":         {strings.Replace(string(text), `{"entry":{`, `{"entry":{"more":1,`, 1), "line 1: json: unknown field"},
		"no JSON":               {"x\n", "line 1: "},
	} {
		if x.text == string(text) {
			t.Errorf("%s: nothing is changed", what)
		}
		if _, err := Audit(strings.NewReader(x.text), "b", identity("b").Public(), nil); err == nil || !strings.HasPrefix(err.Error(), x.err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Audit(bytes.NewReader(text), "b", identity("a").Public(), nil); err == nil {
		t.Error("another key")
	}
	if _, err := Audit(bytes.NewReader(text), "a", identity("b").Public(), nil); err == nil {
		t.Error("another domain")
	}
}

// A peer can show what was said to it. What the domain opens later is what it has signed, or the peer can show that it is not.
func TestStatement(t *testing.T) {
	_, statements := written(t)
	s, err := parseStatement(statements[2], identity("b").Public())
	if err != nil {
		t.Fatal(err)
	}
	if e := s.Entry; e.Peer != "a" || e.Number != 2 || e.Said != Changed.String() || e.Bits != 7 || e.TimeMs != 1000 {
		t.Errorf("%+v", e)
	}
	for i := range statements[2] {
		changed := bytes.Clone(statements[2])
		changed[i] ^= 1
		if _, err := parseStatement(changed, identity("b").Public()); err == nil {
			t.Errorf("byte %d may be another one", i)
		}
	}
}

// What a peer has kept is in the domain's log, or the peer can show that the domain has changed what it says.
func TestKept(t *testing.T) {
	name, statements := written(t)
	kept := filepath.Join(t.TempDir(), "received")
	if list, err := Kept(kept); err != nil || list != nil {
		t.Errorf("%v, %v", list, err)
	}
	key := identity("b").Public()
	for _, b := range statements[2:] { // the second and third for a
		s, err := parseStatement(b, key)
		if err == nil {
			err = Keep(kept, []Statement{*s})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := Kept(kept)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Audit(bytes.NewReader(text), "b", key, list); err != nil {
		t.Error(err)
	}
	// The domain writes its log anew, and leaves the last entry out, or says something else.
	lines := strings.SplitAfter(string(text), "\n")
	if _, err := Audit(strings.NewReader(strings.Join(lines[:3], "")), "b", key, list); err == nil ||
		!strings.Contains(err.Error(), "entry 3 for a is not there") {
		t.Error(err)
	}
	anew := filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(anew, identity("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		if _, err := l.record(time.UnixMilli(1000), "a", token{1}, "no effect", 7, "a", []byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	if text, err = os.ReadFile(anew); err != nil {
		t.Fatal(err)
	}
	if _, err := Audit(bytes.NewReader(text), "b", key, list); err == nil ||
		!strings.Contains(err.Error(), "entry 2 for a is another one than the domain has signed before") {
		t.Error(err)
	}
	list[0].Entry.Said = "crashed"
	if _, err := Audit(bytes.NewReader(text), "b", key, list); err == nil || !strings.Contains(err.Error(), "the domain did not sign entry") {
		t.Error(err)
	}
}

// A line that was not written to its end was not said to anyone.
func TestTornLog(t *testing.T) {
	name, _ := written(t)
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.Truncate(name, int64(len(text)-10))
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(name, identity("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if g := l.Given("a"); g.Entries != 2 {
		t.Errorf("%+v", g)
	}
	if _, err := l.record(time.UnixMilli(1000), "a", token{1}, "accepted", 7, "a", nil); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if given, err := Audit(bytes.NewReader(text), "b", identity("b").Public(), nil); err != nil || given["a"].Entries != 3 {
		t.Errorf("%v, %v", given, err)
	}
}
