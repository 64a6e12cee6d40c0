package propose

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/model"
)

// class is what a part of a line is.
type class int

// Classes. Those from number on vary between the lines of one template.
const (
	word   class = iota
	gap          // between the others
	header       // a date, or what is at the head of each JSON line, up to its message
	number       // a natural number
	node         // the name of a node
	member       // a text or model value of the specification
	id           // a word with digits, or one of many words in its place
	other        // an address, a path, a duration
)

// piece is a part of a line, or of a template, where it has the text of the first line.
type piece struct {
	class
	text string
	// by is what each node wrote here; Twice means that one wrote different texts.
	by    map[string]string
	twice bool
}

// own reports whether a node always writes the same here, and others something else: it names who writes.
func (p *piece) own() bool {
	if p.twice || len(p.by) < 2 {
		return false
	}
	seen := map[string]bool{}
	for _, text := range p.by {
		seen[text] = true
	}
	return len(seen) == len(p.by)
}

// template is what lines of logs, or events of an SDK, have in common.
type template struct {
	kind   model.EventKind
	pieces []piece
	count  int
	first  *model.Event
	nodes  map[string]bool // that write it
}

const months = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)`

// parts matches the parts of a line that are no gaps: members that each JSON line has, and the name of the message; dates and
// times; addresses and paths; fractions; words and numbers.
var parts = lazyregexp.New(`("(?:level|lvl|severity|ts|time|timestamp|@timestamp|caller|logger)": ?(?:"[^"]*"|[-+.\deE]+),?|"(?:msg|message)": ?"` +
	`|\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d)?)?|\d\d? ` + months +
	` \d{4} \d\d:\d\d:\d\d(?:\.\d+)?|` + months + ` +\d\d? \d\d:\d\d:\d\d|\b\d\d:\d\d:\d\d(?:\.\d+)?)` +
	`|([a-z]+://[^\s"',;)\]]+|(?:/[\w.@-]+){2,}|\d+(?:\.\d+)+(?::\d+)?\w*%?)` +
	`|(\w+(?:-\w+)*)`)

var duration = lazyregexp.New(`^\d+(ns|us|ms|s|m|h|[kKMGT]i?B)$`)

// split takes a line apart. Nodes and members are words that vary.
func split(line string, nodes, members map[string]bool) (list []piece) {
	at := 0
	put := func(c class, text string) {
		if text != "" {
			list = append(list, piece{class: c, text: text})
		}
	}
	for _, m := range parts.FindAllStringSubmatchIndex(line, -1) {
		put(gap, line[at:m[0]])
		text := line[m[0]:m[1]]
		at = m[1]
		switch {
		case m[2] >= 0:
			put(header, text)
		case m[4] >= 0 || duration.MatchString(text):
			put(other, text)
		case nodes[text]:
			put(node, text)
		case members[text]:
			put(member, text)
		case strings.Trim(text, "0123456789") == "":
			put(number, text)
		case strings.ContainsAny(text, "0123456789"):
			put(id, text)
		default:
			put(word, text)
		}
	}
	put(gap, line[at:])
	return folded(list)
}

// leastList is how many values of one class in a row are a list.
const leastList = 3

// folded makes one piece of each list, such as [1, 2, 3].
func folded(list []piece) (out []piece) {
	for i := 0; i < len(list); i++ {
		end := i
		for list[i].class >= number && end+2 < len(list) && list[end+2].class == list[i].class &&
			(list[end+1].text == " " || list[end+1].text == "," || list[end+1].text == ", ") {
			end += 2
		}
		if end-i < 2*(leastList-1) {
			out = append(out, list[i])
			continue
		}
		text := ""
		for _, p := range list[i : end+1] {
			text += p.text
		}
		out = append(out, piece{class: other, text: text})
		i = end
	}
	return out
}

// key is what distinguishes a template from others; the word at one place is left out, if that is not negative.
func key(kind model.EventKind, pieces []piece, without int) string {
	var b strings.Builder
	b.WriteString(string(kind))
	for i, p := range pieces {
		switch {
		case i == without || p.class >= number:
			b.WriteString("\x00*")
		case p.class == header:
			b.WriteString("\x00-")
		default:
			b.WriteString("\x00" + p.text)
		}
	}
	return b.String()
}

// mostWords is how many words may stand in one place of a line: more are names. Fewer distinguish templates, such as those of roles.
const mostWords = 8

// mine groups events into templates, in the order of their first events: in the manner of Drain (He et al., ICWS 2017), which
// compares lines of one length, in which numbers and ids are masked, place by place. Drain takes lines for one template if most
// words are equal; here all must be, since one word is what distinguishes two actions, unless more than mostWords stand in one
// place. Other than those of coverage.Template, templates keep the places of values.
func mine(events []model.Event, nodes, members map[string]bool) (list []*template) {
	byKey := map[string]*template{}
	for i := range events {
		e := &events[i]
		if e.Kind != model.LineEvent && e.Kind != model.SDKEvent {
			continue
		}
		pieces := split(e.Line, nodes, members)
		k := key(e.Kind, pieces, -1)
		t := byKey[k]
		if t == nil {
			t = &template{kind: e.Kind, pieces: pieces, first: e, nodes: map[string]bool{}}
			byKey[k] = t
			list = append(list, t)
		}
		t.add(pieces, e.Node)
	}
	for {
		families := map[string][]*template{}
		var order []string
		place := map[string]int{}
		for _, t := range list {
			for i, p := range t.pieces {
				if p.class != word {
					continue
				}
				k := key(t.kind, t.pieces, i)
				if families[k] == nil {
					order = append(order, k)
				}
				families[k], place[k] = append(families[k], t), i
			}
		}
		merged := map[*template]bool{}
		for _, k := range order {
			if family := families[k]; len(family) > mostWords && !slices.ContainsFunc(family, func(t *template) bool { return merged[t] }) {
				family[0].pieces[place[k]].class = id
				for _, t := range family[1:] {
					merged[t] = true
					family[0].join(t)
				}
			}
		}
		if len(merged) == 0 {
			return list
		}
		list = slices.DeleteFunc(list, func(t *template) bool { return merged[t] })
	}
}

// add takes in a line that a node wrote.
func (t *template) add(pieces []piece, from string) {
	t.count++
	t.nodes[from] = true
	for i := range t.pieces {
		p, q := &t.pieces[i], &pieces[i]
		if p.class < number && p.text == q.text {
			continue
		}
		if p.class >= number {
			p.class = joined(p.class, q.class)
		}
		if before, ok := p.by[from]; ok {
			p.twice = p.twice || before != q.text
			continue
		}
		if p.by == nil {
			p.by = map[string]string{}
		}
		p.by[from] = q.text
	}
}

// join takes in the lines of another template of the same family.
func (t *template) join(o *template) {
	t.count += o.count
	maps.Copy(t.nodes, o.nodes)
	for i := range t.pieces {
		p, q := &t.pieces[i], &o.pieces[i]
		if p.class >= number && q.class >= number {
			p.class = joined(p.class, q.class)
		}
		p.twice = true
	}
}

// joined is the class of values of two classes.
func joined(a, b class) class {
	switch {
	case a == b:
		return a
	case a == other || b == other:
		return other
	}
	return id
}

// key reports whether a piece is the name of the value behind it, as in term=3.
func (t *template) key(i int) bool {
	if t.pieces[i].class != word || i+2 >= len(t.pieces) || t.pieces[i+1].class != gap || t.pieces[i+2].class < number {
		return false
	}
	return strings.ContainsAny(t.pieces[i+1].text[:1], `=:"`)
}

// opening is the quote or bracket before a piece.
func (t *template) opening(i int) string {
	if i == 0 || t.pieces[i-1].class != gap {
		return ""
	}
	text := t.pieces[i-1].text
	if last := text[len(text)-1:]; strings.Contains("<[('\"", last) {
		return regexp.QuoteMeta(last)
	}
	return ""
}

// literal is a regular expression for a text, in characters that YAML can have.
func literal(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\x00") {
		if unicode.IsPrint(r) {
			b.WriteString(regexp.QuoteMeta(string(r)))
		} else {
			b.WriteString(".+?")
		}
	}
	return b.String()
}

// values of the class of a piece, as a regular expression.
func (p *piece) values() string {
	switch p.class {
	case number:
		return `\d+`
	case node, member, id:
		return `[\w-]+`
	}
	return `.*?`
}

// pattern is a regular expression for the lines of a template, with a named group for each place in groups. Of what headers
// separate it has the parts with groups, and that with most words; each begins and ends with a group or a word, which may be the
// name of a value only if whole.
func (t *template) pattern(groups map[int]string, whole bool) string {
	type segment struct{ first, last, words, groups int }
	segments := []segment{{first: -1}}
	for i, p := range t.pieces {
		s := &segments[len(segments)-1]
		switch named := groups[i] != ""; {
		case p.class == header:
			segments = append(segments, segment{first: -1})
			continue
		case named:
			s.groups++
		case p.class == word && (whole || !t.key(i)):
			s.words++
		default:
			continue
		}
		if s.last = i; s.first < 0 {
			s.first = i
		}
	}
	most := slices.MaxFunc(segments, func(a, b segment) int { return a.words - b.words })
	var texts []string
	for _, s := range segments {
		if s.first < 0 || s.groups == 0 && s != most {
			continue
		}
		text := t.opening(s.first)
		for i := s.first; i <= s.last; i++ {
			switch p := &t.pieces[i]; {
			case groups[i] != "":
				text += "(?P<" + groups[i] + ">" + p.values() + ")"
			case p.class == number:
				text += `[\w-]+` // it may be a name elsewhere
			case p.class >= number:
				text += p.values()
			default:
				text += literal(p.text)
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ".*")
}
