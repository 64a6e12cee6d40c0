package set

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The second value is skipped, the third one has no answer, and so the client goes on under another name.
func TestRecords(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BLOODHOUND_REPORT", name)
	t.Setenv("BLOODHOUND_SKIP", `[{"client":"c0","from":1,"to":2},{"client":"c1","from":0,"to":0}]`)
	l := Open()
	l.Announce("ready")
	c := &Client{Label: "c0", Node: "n1", Log: l}
	c.Add(4, 1, func(value string) error {
		if value == "c0-2" {
			return errors.New("no answer")
		}
		return nil
	})
	if c.Read(func() ([]string, error) { return nil, errors.New("down") }) {
		t.Error("a read without an answer counts as one")
	}
	if !c.Read(func() ([]string, error) { return []string{"c0-0"}, nil }) {
		t.Error("a read with an answer does not count")
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"ready"}
{"client":"c0","type":"invoke","op":"add","key":"log","input":"c0-0","node":"n1"}
{"client":"c0","type":"ok"}
{"client":"c0","type":"invoke","op":"add","key":"log","input":"c0-2","node":"n1"}
{"client":"c0","type":"info","error":"no answer"}
{"client":"c0.1","type":"invoke","op":"add","key":"log","input":"c0-3","node":"n1"}
{"client":"c0.1","type":"ok"}
{"client":"c0.1","type":"invoke","op":"read","key":"log","node":"n1"}
{"client":"c0.1","type":"info","error":"down"}
{"client":"c0.2","type":"invoke","op":"read","key":"log","node":"n1"}
{"client":"c0.2","type":"ok","output":"[\"c0-0\"]"}
`
	if string(got) != want {
		t.Errorf("reported\n%s\nwant\n%s", got, want)
	}
}
