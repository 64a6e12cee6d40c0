// Package config reads configuration files of TLC.
package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// Config is a configuration file of TLC (Specifying Systems, section 14.7.1): which parts of a module are what, and what its constants are.
type Config struct {
	File              string
	Specification     string
	Init, Next        string
	Invariants        []string
	Properties        []string
	Constraints       []string
	ActionConstraints []string
	Symmetry          []string
	View              string
	Alias             string
	Postconditions    []string
	PostconditionFrom string            // the option that names the last of them, for errors; empty: the file does
	Possible          []string          // _POSSIBLE
	Periodic          string            // _PERIODIC: what is evaluated now and then, and must not be FALSE
	Reward            string            // _RL_REWARD: for simulations of TLC that learn
	NoDeadlock        bool              // CHECK_DEADLOCK FALSE
	Environment       map[string]string // what IOEnv shows besides the environment of the process
	Log               string            // the file that the specification reads as its log, whatever name it gives it; empty: what it names
	Text              string            // of the file, for errors
	assignments       []Assignment
	places            map[string]syntax.Pos // where names stand
}

// PositionOf returns the position of a name in the file, or else the file's beginning.
func (c *Config) PositionOf(name string) syntax.Pos {
	if pos, ok := c.places[name]; ok {
		return pos
	}
	return syntax.Pos{Line: 1, Column: 1}
}

// Assignments returns the configuration's assignments to constants and definitions. It is not a method, because Config
// has a public alias and Assignment has none.
func Assignments(c *Config) []Assignment { return c.assignments }

// Assignment is an entry of a configuration for a constant or definition: Name = Value, Name(Arguments) = Value, or
// Name <- Operator, in a module if one is named.
type Assignment struct {
	Name      string // with those of instances before it, as I!Name
	Module    string
	Arguments []syntax.Expr
	Value     syntax.Expr
	Operator  string
	Pos       syntax.Pos
}

var statements = map[string]bool{"SPECIFICATION": true, "INIT": true, "NEXT": true, "INVARIANT": true, "INVARIANTS": true, "PROPERTY": true,
	"PROPERTIES": true, "CONSTRAINT": true, "CONSTRAINTS": true, "ACTION_CONSTRAINT": true, "ACTION_CONSTRAINTS": true, "SYMMETRY": true,
	"VIEW": true, "ALIAS": true, "POSTCONDITION": true, "POSTCONDITIONS": true, "_POSSIBLE": true, "_PERIODIC": true,
	"_RL_REWARD": true, "CHECK_DEADLOCK": true, "CONSTANT": true, "CONSTANTS": true}

// Meant says which statement a name may have been meant as, as the end of a sentence; it is empty if the name resembles none.
func Meant(name string) string {
	best, least := "", 3
	for statement := range statements {
		most := 2
		if len(statement) < 6 {
			most = 1
		}
		n := distance(strings.ToUpper(name), statement)
		if n <= most && (n < least || n == least && statement < best) {
			best, least = statement, n
		}
	}
	if best == "" {
		return ""
	}
	return ": is " + best + " meant?"
}

// distance is how many characters must be added, left out or changed to make one word of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for k := range len(b) {
			change := before
			if a[i] != b[k] {
				change++
			}
			before = row[k+1]
			row[k+1] = min(change, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}

// MaxBytes bounds the bytes of a module, and of a configuration.
const MaxBytes = 64 << 20

// Read reads a configuration file, or the configuration in the file of a module, as in TLC: between ---- CONFIG Name ----, with the name of the
// file, and ====.
func Read(file string) (*Config, error) {
	text, err := regular.Read(file, MaxBytes)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(file, ".tla") {
		return Parse(file, string(text))
	}
	section, found := configSection(file, string(text))
	if !found {
		return nil, fmt.Errorf("%s has %w: that begins with ---- CONFIG %s ---- and ends with ====", file, ErrNoConfig, ModuleOf(file))
	}
	return Parse(file, section)
}

// ErrNoConfig is the error for the file of a module without a configuration.
var ErrNoConfig = errors.New("no configuration")

// ModuleOf is the name of the module that a file holds.
func ModuleOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".tla") }

// configSection is the part of a module's text that is its configuration, with empty lines for the text before it.
func configSection(file, text string) (section string, found bool) {
	head := regexp.MustCompile(`^\s*-{4,}\s*CONFIG\s+` + regexp.QuoteMeta(ModuleOf(file)) + `\s*-{4,}\s*$`)
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case found && strings.HasPrefix(strings.TrimSpace(line), "===="):
			return strings.Join(lines, "\n"), true
		case head.MatchString(line):
			found, line = true, ""
		case !found:
			line = ""
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), found
}

// Parse reads a configuration. Errors are of type *syntax.Error.
func Parse(file, text string) (*Config, error) {
	tokens, err := syntax.Tokens(file, text)
	if err != nil {
		return nil, err
	}
	c := &Config{File: file, Text: text, places: map[string]syntax.Pos{}}
	fail := func(t syntax.Token, format string, args ...any) error {
		return syntax.ErrorAt(file, text, t.Pos, fmt.Sprintf(format, args...))
	}
	for i := 0; i < len(tokens); {
		head := tokens[i]
		if !statements[head.Text] {
			if meant := Meant(head.Text); meant != "" {
				return nil, fail(head, "%s is not a configuration statement%s", head.Text, meant)
			}
			return nil, fail(head, "%s is not a configuration statement; those are SPECIFICATION, INIT, NEXT, CONSTANT, "+
				"INVARIANT, PROPERTY, CONSTRAINT, ACTION_CONSTRAINT, SYMMETRY, VIEW, ALIAS, POSTCONDITION, _POSSIBLE, _PERIODIC, _RL_REWARD and CHECK_DEADLOCK",
				head.Text)
		}
		i++
		begin := i
		for i < len(tokens) && !statements[tokens[i].Text] {
			i++
		}
		body := tokens[begin:i]
		if err := c.statement(head, body, fail); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// statement takes in a statement with the tokens behind it.
func (c *Config) statement(head syntax.Token, body []syntax.Token, fail func(syntax.Token, string, ...any) error) error {
	if strings.HasPrefix(head.Text, "CONSTANT") {
		return c.constants(body, fail)
	}
	if head.Text == "CHECK_DEADLOCK" {
		switch {
		case len(body) == 0 || body[0].Text != "TRUE" && body[0].Text != "FALSE":
			return fail(head, "CHECK_DEADLOCK is TRUE or FALSE")
		case len(body) > 1:
			return fail(body[1], "%s is not a configuration statement%s", body[1].Text, Meant(body[1].Text))
		}
		c.NoDeadlock = body[0].Text == "FALSE"
		return nil
	}
	if one := c.single(head.Text); one != nil {
		switch {
		case len(body) == 0:
			return fail(head, "%s needs a name", head.Text)
		case len(body) > 1:
			return fail(body[1], "%s needs one name, and %s is not a configuration statement%s", head.Text, body[1].Text, Meant(body[1].Text))
		case *one != "":
			return fail(head, "%s is given twice", head.Text)
		}
		*one = body[0].Text
		c.places[*one] = body[0].Pos
		return nil
	}
	names := c.list(head.Text)
	for i, t := range body {
		if t.Text != "," && !t.Name {
			for _, before := range body[:i] {
				if meant := Meant(before.Text); meant != "" {
					return fail(before, "%s is not a configuration statement%s", before.Text, meant)
				}
			}
			return fail(t, "%s has a list of names, and %s is none", head.Text, t.Text)
		}
		if t.Text != "," {
			c.places[t.Text] = t.Pos
			*names = append(*names, t.Text)
		}
	}
	return nil
}

// single is where the one name of a statement goes; nil for statements of several names.
func (c *Config) single(statement string) *string {
	switch statement {
	case "SPECIFICATION":
		return &c.Specification
	case "INIT":
		return &c.Init
	case "NEXT":
		return &c.Next
	case "VIEW":
		return &c.View
	case "ALIAS":
		return &c.Alias
	case "_PERIODIC":
		return &c.Periodic
	case "_RL_REWARD":
		return &c.Reward
	}
	return nil
}

// list is where the names of a statement go.
func (c *Config) list(statement string) *[]string {
	switch statement {
	case "INVARIANT", "INVARIANTS":
		return &c.Invariants
	case "PROPERTY", "PROPERTIES":
		return &c.Properties
	case "CONSTRAINT", "CONSTRAINTS":
		return &c.Constraints
	case "ACTION_CONSTRAINT", "ACTION_CONSTRAINTS":
		return &c.ActionConstraints
	case "POSTCONDITION", "POSTCONDITIONS":
		return &c.Postconditions
	case "_POSSIBLE":
		return &c.Possible
	case "SYMMETRY":
		return &c.Symmetry
	}
	panic("no such statement: " + statement)
}

func (c *Config) constants(body []syntax.Token, fail func(syntax.Token, string, ...any) error) error {
	for i := 0; i < len(body); {
		a := Assignment{Name: body[i].Text, Pos: body[i].Pos}
		i++
		for i+1 < len(body) && body[i].Text == "!" {
			a.Name += "!" + body[i+1].Text
			i += 2
		}
		if i < len(body) && body[i].Text == "(" {
			n, err := a.arguments(body[i:])
			if err != nil {
				return fail(body[i], "the arguments of %s: %v", a.Name, err)
			}
			i += n
		}
		switch {
		case i < len(body) && body[i].Text == "<-" && len(a.Arguments) > 0:
			return fail(body[i], "%s is given a value for some arguments by =, as %s(1) = 2", a.Name, a.Name)
		case i < len(body) && body[i].Text == "<-":
			i++
			if i+2 < len(body) && body[i].Text == "[" {
				a.Module = body[i+1].Text
				i += 3
			}
			if i >= len(body) {
				return fail(body[len(body)-1], "%s <- needs the name of an operator", a.Name)
			}
			a.Operator = body[i].Text
			i++
		case i < len(body) && body[i].Text == "=":
			i++
			if i+3 < len(body) && body[i].Text == "[" { // x = [Module]value
				a.Module = body[i+1].Text
				i += 3
			}
			v, n, err := constantValue(body[i:], 0)
			if err != nil {
				return fail(body[min(i, len(body)-1)], "the value of %s: %v", a.Name, err)
			}
			a.Value = v
			i += n
		case Meant(a.Name) != "":
			return fail(body[i-1], "%s is not a configuration statement%s", a.Name, Meant(a.Name))
		default:
			return fail(body[i-1], "%s needs = and a value, or <- and the name of an operator", a.Name)
		}
		for _, old := range c.assignments {
			switch {
			case old.Name != a.Name || old.Module != a.Module:
			case (old.Operator == "") != (a.Operator == ""): // as in TLC, the operator stands in the place of the value
			case old.Value != nil && a.Value != nil && len(old.Arguments)+len(a.Arguments) == 0 && sameValue(old.Value, a.Value):
			case len(old.Arguments) > 0 && len(old.Arguments) == len(a.Arguments): // the first that fits is taken
			case len(old.Arguments) > 0 && len(a.Arguments) > 0:
				return fail(syntax.Token{Pos: a.Pos}, "%s is given values for %s here, and for %d at line %d", a.Name,
					plural.Count(len(a.Arguments), "argument"), len(old.Arguments), old.Pos.Line)
			default:
				return fail(syntax.Token{Pos: a.Pos}, "%s is given a value twice: the first time at line %d", a.Name, old.Pos.Line)
			}
		}
		c.assignments = append(c.assignments, a)
	}
	return nil
}

// sameValue reports whether two values stand in the text alike.
func sameValue(a, b syntax.Expr) bool {
	switch a := a.(type) {
	case *syntax.Number:
		b, ok := b.(*syntax.Number)
		return ok && a.Text == b.Text
	case *syntax.String:
		b, ok := b.(*syntax.String)
		return ok && a.Text == b.Text
	case *syntax.Apply:
		b, ok := b.(*syntax.Apply)
		return ok && a.Name == b.Name
	case *syntax.SetEnum:
		b, ok := b.(*syntax.SetEnum)
		return ok && slices.EqualFunc(a.Items, b.Items, sameValue)
	}
	return false
}

// arguments reads (value, ...), and gives how many tokens that are.
func (a *Assignment) arguments(t []syntax.Token) (int, error) {
	for i := 1; i < len(t); i++ {
		v, n, err := constantValue(t[i:], 0)
		if err != nil {
			return 0, err
		}
		a.Arguments = append(a.Arguments, v)
		if i += n; i < len(t) && t[i].Text == ")" {
			return i + 1, nil
		}
		if i >= len(t) || t[i].Text != "," {
			break
		}
	}
	return 0, fmt.Errorf("they do not end: ) is missing")
}

// constantValue reads a number, a string, a name (a model value, or a Boolean), or a set of such.
func constantValue(t []syntax.Token, depth int) (syntax.Expr, int, error) {
	if depth > 1000 {
		return nil, 0, fmt.Errorf("its sets are more than 1000 deep")
	}
	if len(t) == 0 {
		return nil, 0, fmt.Errorf("there is none")
	}
	switch first := t[0]; {
	case first.Text == "{" && !first.Quoted:
		set := &syntax.SetEnum{Pos: first.Pos}
		i := 1
		for {
			if i >= len(t) {
				return nil, 0, fmt.Errorf("the set does not end: } is missing")
			}
			if t[i].Text == "}" {
				return set, i + 1, nil
			}
			if t[i].Text == "," {
				i++
				continue
			}
			v, n, err := constantValue(t[i:], depth+1)
			if err != nil {
				return nil, 0, err
			}
			set.Items = append(set.Items, v)
			i += n
		}
	case first.Quoted:
		return &syntax.String{Pos: first.Pos, Text: first.Text}, 1, nil
	case first.Text == "-" && len(t) > 1:
		return &syntax.Number{Pos: first.Pos, Text: "-" + t[1].Text}, 2, nil
	case first.Number:
		return &syntax.Number{Pos: first.Pos, Text: first.Text}, 1, nil
	case first.Name:
		return &syntax.Apply{Pos: first.Pos, Name: first.Text}, 1, nil
	default:
		return nil, 0, fmt.Errorf("%s is none: numbers, strings, model values and sets of them are", first.Text)
	}
}
