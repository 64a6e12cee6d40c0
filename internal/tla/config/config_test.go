package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

var update = flag.Bool("update", false, "write the results of testdata/configs.txt anew")

// shown is a configuration as a line for each field that it sets.
func shown(c *Config) string {
	text := ""
	v := reflect.ValueOf(*c)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Name == "File" || f.Name == "Text" || v.Field(i).IsZero() {
			continue
		}
		text += fmt.Sprintf("%s: %v\n", f.Name, v.Field(i).Interface())
	}
	for _, a := range c.assignments {
		text += fmt.Sprintf("%d:%d: %s", a.Pos.Line, a.Pos.Column, a.Name)
		for i, e := range a.Arguments {
			text += fmt.Sprintf(" argument %d %s", i+1, expression(e))
		}
		if a.Module != "" {
			text += " [" + a.Module + "]"
		}
		if a.Operator != "" {
			text += " <- " + a.Operator
		}
		if a.Value != nil {
			text += " = " + expression(a.Value)
		}
		text += "\n"
	}
	return text
}

func expression(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Number:
		return "number " + e.Text
	case *syntax.String:
		return "string " + e.Text
	case *syntax.Apply:
		return "name " + e.Name
	case *syntax.SetEnum:
		var items []string
		for _, i := range e.Items {
			items = append(items, expression(i))
		}
		return "set {" + strings.Join(items, ", ") + "}"
	}
	return fmt.Sprintf("%T", e)
}

// TestParse reads testdata/configs.txt: after a line that begins with ##, a configuration, and after ---- what it says, or the error.
func TestParse(t *testing.T) {
	file := filepath.Join("testdata", "configs.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "## ")
	out := head
	for _, c := range strings.Split(rest, "\n## ") {
		title, body, _ := strings.Cut(c, "\n")
		config, want, _ := strings.Cut(body, "----\n")
		parsed, err := Parse("M.cfg", config)
		got := ""
		if err != nil {
			var at *syntax.Error
			if !errors.As(err, &at) {
				t.Errorf("%s: %T is no error with a place", title, err)
			}
			got = err.Error()
		} else {
			got = shown(parsed)
		}
		got = strings.TrimRight(got, "\n")
		if got != strings.TrimRight(want, "\n") && !*update {
			t.Errorf("%s:\n%s\nand not\n%s", title, got, want)
		}
		out += "## " + title + "\n" + config + "----\n" + got + "\n\n"
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRead reads the configuration in the file of a module. Lines keep their numbers.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "M.tla")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("---- MODULE M ----\n====\n---- CONFIG Other ----\nINIT A\n====\n---- CONFIG M ----\nINIT B\nNEXT C\n====\nINIT D\n")
	c, err := Read(file)
	if err != nil || c.Init != "B" || c.Next != "C" || c.PositionOf("C").Line != 8 {
		t.Errorf("%+v, %v", c, err)
	}
	write("---- MODULE M ----\n====\n")
	if _, err := Read(file); !errors.Is(err, ErrNoConfig) {
		t.Error(err)
	}
}
