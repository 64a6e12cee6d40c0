package propose

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// kind is what values a parameter takes.
type kind int

const (
	unknown kind = iota
	natural
	name   // texts or model values
	server // of these, or of numbers, those that stand for nodes
)

// parameter of an action.
type parameter struct {
	eval.Choice
	kind
}

// action of a specification.
type action struct {
	name   string
	params []parameter
	words  map[string]float64 // stems, and what they weigh
	named  []string           // the stems of its name
	wrong  string             // why no rule can be about it
}

// String is an action with the sets of its parameters.
func (a *action) String() string {
	var params []string
	for _, p := range a.params {
		switch {
		case p.Set == "":
			params = append(params, p.Parameter)
		case len(p.Members) == 1 && p.Members[0].String() == p.Set:
			params = append(params, p.Parameter+" = "+p.Set)
		default:
			params = append(params, p.Parameter+` \in `+p.Set)
		}
	}
	if len(params) == 0 {
		return a.name
	}
	return a.name + "(" + strings.Join(params, ", ") + ")"
}

// isNamed reports whether a word is in the name of an action.
func (a *action) isNamed(word string) bool {
	return slices.ContainsFunc(stems(word), func(s string) bool { return slices.Contains(a.named, s) })
}

// What the words of an action weigh: those of its name, texts and capitalised names that it writes, which are values of roles and
// the like, others, and those of its guards, which are often those of the state before.
const (
	nameWeight  = 1.0
	valueWeight = 0.7
	otherWeight = 0.3
	guardWeight = 0.15
)

var tokens = lazyregexp.New(`"[^"]*"|[A-Za-z][\w]*`)

// actionsOf reads the actions of a specification, and names the definitions that have alternatives without a name, to which no
// rule can be. nodes are those of the logs, and mentioned the words of the lines.
func actionsOf(spec *tla.Spec, nodes, mentioned map[string]bool) (list []*action, unnamed []string, err error) {
	relation := eval.Relation(spec)
	for i := range spec.Actions {
		name := spec.Actions[i].Name
		if slices.ContainsFunc(list, func(a *action) bool { return a.name == name }) || slices.Contains(unnamed, name) {
			continue
		}
		r := relation[name]
		if r != nil && r.Divided {
			unnamed = append(unnamed, name)
			continue
		}
		a := &action{name: name, words: map[string]float64{}}
		list = append(list, a)
		op, err := eval.ActionOf(spec, name)
		if err != nil {
			a.wrong = err.Error()
			continue
		}
		for k, p := range op.Params {
			c := parameter{Choice: eval.Choice{Parameter: p}}
			if r != nil && k < len(r.Choices) {
				c.Choice = r.Choices[k]
			}
			c.kind = kindOf(c.Members)
			a.params = append(a.params, c)
			a.weigh(p, otherWeight)
		}
		a.named = stems(name)
		a.weigh(name, nameWeight)
		if r != nil {
			a.read(r.Text, op.Guards)
		}
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("the specification has no actions: its configuration needs SPECIFICATION, or INIT and NEXT")
	}
	serve(list, nodes, mentioned)
	return list, unnamed, nil
}

func kindOf(members []value.Value) kind {
	if len(members) == 0 {
		return unknown
	}
	switch members[0].(type) {
	case value.Int:
		return natural
	case *value.String, *value.Model:
		return name
	}
	return unknown
}

// serve finds the parameters that stand for nodes: those whose set has names of nodes; if none has, those with the set that most actions have first and no line
// mentions.
func serve(list []*action, nodes, mentioned map[string]bool) {
	has := func(p *parameter, words map[string]bool) bool {
		return slices.ContainsFunc(p.Members, func(v value.Value) bool { return words[plain(v)] })
	}
	all := func(f func(i int, p *parameter)) {
		for _, a := range list {
			for i := range a.params {
				f(i, &a.params[i])
			}
		}
	}
	found := false
	firsts := map[string]int{}
	most := ""
	all(func(i int, p *parameter) {
		if has(p, nodes) {
			found = true
		}
		if i == 0 && p.Set != "" && (p.kind == name && !has(p, mentioned) || p.kind == natural && !strings.Contains(p.Set, "..") && p.Set != "Nat") {
			if firsts[p.Set]++; firsts[p.Set] > firsts[most] {
				most = p.Set
			}
		}
	})
	all(func(_ int, p *parameter) {
		if has(p, nodes) || !found && most != "" && p.Set == most {
			p.kind = server
		}
	})
}

// plain is a value without quotes.
func plain(v value.Value) string {
	switch v := v.(type) {
	case *value.String:
		return v.Text
	case *value.Model:
		return v.Name
	}
	return v.String()
}

// read weighs the words of an action's body.
func (a *action) read(body string, guards []tla.Guard) {
	count := func(text string) map[string]int {
		found := map[string]int{}
		for _, t := range tokens.FindAllString(text, -1) {
			found[t]++
		}
		return found
	}
	guarding := map[string]int{}
	for _, g := range guards {
		for t, n := range count(g.Text) {
			guarding[t] += n
		}
	}
	for t, n := range count(body) {
		switch upper := strings.ToUpper(t); {
		case t == upper && len(t) > 1 && t[0] != '"': // a word of the language, mostly
		case n <= guarding[t]:
			a.weigh(t, guardWeight)
		case t[0] == '"' || unicode.IsUpper(rune(t[0])):
			a.weigh(t, valueWeight)
		default:
			a.weigh(t, otherWeight)
		}
	}
}

func (a *action) weigh(text string, weight float64) {
	for _, s := range stems(text) {
		a.words[s] = max(a.words[s], weight)
	}
}

// common are words that distinguish nothing.
var common = map[string]bool{"a": true, "after": true, "an": true, "and": true, "as": true, "at": true, "be": true, "by": true,
	"for": true, "from": true, "has": true, "in": true, "is": true, "it": true, "msg": true,
	"now": true, "of": true, "on": true, "or": true, "that": true, "the": true, "this": true, "to": true, "was": true, "with": true}

// stems are the words in a text, also within CamelCase and snake_case, without endings.
func stems(text string) (list []string) {
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !unicode.IsLetter(runes[i]) {
			i++
			continue
		}
		from := i
		for i < len(runes) && unicode.IsUpper(runes[i]) {
			i++
		}
		if i-from > 1 && i < len(runes) && unicode.IsLower(runes[i]) {
			i-- // HTTPServer is HTTP and Server
		} else {
			for i < len(runes) && unicode.IsLower(runes[i]) {
				i++
			}
		}
		if i == from { // a letter without a case
			i++
		}
		w := strings.ToLower(string(runes[from:i]))
		if !common[w] {
			list = append(list, stem(w))
		}
	}
	return list
}

// leastStem is how many letters a stem keeps.
const leastStem = 3

// stem cuts an ending: leader, leads and leading are one word.
func stem(w string) string {
	for _, end := range []string{"ings", "ions", "ing", "ion", "ers", "ed", "er", "es", "s", "e"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= leastStem && !(end == "s" && strings.HasSuffix(s, "s")) {
			return s
		}
	}
	return w
}
