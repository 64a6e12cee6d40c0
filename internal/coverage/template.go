package coverage

import (
	"bytes"
	"strings"
)

// maxTemplateBytes bounds a template.
const maxTemplateBytes = 120

// kept are the members of a log line whose values say what happened; of all others the name alone is kept.
var kept = []string{"level", "lvl", "severity", "msg", "message", "event", "error", "err", "state", "reason", "type"}

// dates are the members that every line has.
var dates = []string{"ts", "time", "timestamp"}

// Template appends what is left of a log line when all that varies between two lines of one kind is masked: numbers, dates,
// durations, addresses, ids, quoted names. Of a line of JSON it keeps the level, the message and the names of the members.
func Template(to []byte, line string) []byte {
	m := masker{out: to, start: len(to)}
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") || !m.object(line) {
		m.out = m.out[:m.start]
		m.text(line)
	}
	m.trim()
	return m.out
}

// masker builds one template in out[start:].
type masker struct {
	out   []byte
	start int
	last  int // where the word that was put last begins
}

func (m *masker) full() bool { return len(m.out)-m.start >= maxTemplateBytes }

// trim cuts what is too long, and what ends it without saying anything.
func (m *masker) trim() {
	m.gap()
	if m.full() {
		m.out = m.out[:m.start+maxTemplateBytes]
	}
	for len(m.out) > m.start && m.out[len(m.out)-1] == ' ' {
		m.out = m.out[:len(m.out)-1]
	}
}

// object masks a line that is one JSON object; false says that it is not.
func (m *masker) object(line string) bool {
	i := 1
	for !m.full() {
		i = spaces(line, i)
		if i < len(line) && line[i] == ',' {
			i = spaces(line, i+1)
		}
		if i < len(line) && line[i] == '}' {
			return true
		}
		name, next := quoted(line, i)
		if next < 0 {
			return false
		}
		i = spaces(line, next)
		if i >= len(line) || line[i] != ':' {
			return false
		}
		i = spaces(line, i+1)
		value, next := member(line, i)
		if next < 0 {
			return false
		}
		i = next
		if listed(dates, name) {
			continue
		}
		if len(m.out) > m.start && m.out[len(m.out)-1] != ' ' {
			m.out = append(m.out, ' ')
		}
		if listed(kept, name) {
			m.text(value)
		} else {
			m.out = append(m.out, name...)
			m.out = append(m.out, '=')
		}
	}
	return true
}

func listed(names []string, name string) bool {
	for _, k := range names {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

func spaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// quoted reads the string in double quotes at s[i]; next is behind it, or -1 if there is none.
func quoted(s string, i int) (text string, next int) {
	if i >= len(s) || s[i] != '"' {
		return "", -1
	}
	for k := i + 1; k < len(s); k++ {
		switch s[k] {
		case '\\':
			k++
		case '"':
			return s[i+1 : k], k + 1
		}
	}
	return "", -1
}

// member reads the JSON value at s[i] without looking into it.
func member(s string, i int) (text string, next int) {
	if i < len(s) && s[i] == '"' {
		return quoted(s, i)
	}
	depth := 0
	for k := i; k < len(s); k++ {
		switch c := s[k]; {
		case c == '"':
			if _, k = quoted(s, k); k < 0 {
				return "", -1
			}
			k--
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}'):
			return s[i:k], k
		case c == '}' || c == ']':
			depth--
		}
	}
	return "", -1
}

// text masks a line of words.
func (m *masker) text(s string) {
	m.last = len(m.out)
	for i := 0; i < len(s) && !m.full(); {
		switch c := s[i]; {
		case c == 0x1b: // a colour
			for i++; i < len(s) && !letter(s[i]); i++ {
			}
			i++
		case wordy(c):
			end := i + 1
			for end < len(s) && wordy(s[end]) {
				end++
			}
			if u := max(uuid(s[i:]), ipv6(s[i:])); u > 0 {
				m.number()
				i += u
				continue
			}
			m.word(s[i:end])
			i = end
		case c == ':' && ipv6(s[i:]) > 0:
			m.number()
			i += ipv6(s[i:])
		case c == '"' || c == '\'' && (i == 0 || !wordy(s[i-1])):
			i = m.quotation(s, i)
		case c == ' ' || c == '\t':
			m.gap()
			i++
		case c < 0x20 || c == 0x7f:
			i++
		default:
			m.out = append(m.out, c)
			i++
		}
	}
}

// quotation masks a quoted name and keeps a quoted sentence.
func (m *masker) quotation(s string, i int) (next int) {
	end := i + 1
	for end < len(s) && s[end] != s[i] {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		m.out = append(m.out, s[i])
		return i + 1
	}
	inner := s[i+1 : end]
	m.out = append(m.out, '"')
	if k := strings.IndexByte(inner, ' '); k > 0 && k+1 < len(inner) && (letter(inner[k+1]) || inner[k+1] == '"') {
		m.text(inner)
	} else {
		m.out = append(m.out, '*')
	}
	m.out = append(m.out, '"')
	return end + 1
}

// gap ends a word. A word that repeats the one before it, as in a list of numbers, is put once, with what closes the list.
func (m *masker) gap() {
	n := len(m.out)
	if n == m.start || m.out[n-1] == ' ' {
		return
	}
	word := m.out[m.last:n]
	core := bytes.TrimRight(word, ",;])}")
	before := bytes.TrimRight(m.out[m.start:m.last], " ,;")
	before = before[bytes.LastIndexAny(before, " [({=")+1:]
	if len(core) > 0 && bytes.Equal(core, before) {
		end := len(bytes.TrimRight(m.out[:m.last], " ,;"))
		m.out = append(m.out[:end], word[len(core):]...)
	}
	m.out = append(m.out, ' ')
	m.last = len(m.out)
}

// number puts a mask, unless the text only continues a number: 10.0.0.1:80 is one number, and so is a date.
func (m *masker) number() {
	n := len(m.out)
	if n > m.start && m.out[n-1] == '#' {
		return
	}
	if n > m.start+1 && m.out[n-2] == '#' && strings.IndexByte(".,:/-+T_x", m.out[n-1]) >= 0 {
		m.out = m.out[:n-1]
		return
	}
	if n > m.start && m.out[n-1] == '-' && (n == m.start+1 || strings.IndexByte(" =(:[", m.out[n-2]) >= 0) { // a sign
		m.out = m.out[:n-1]
	}
	m.out = append(m.out, '#')
}

// word masks what varies in a run of letters, digits and underscores.
func (m *masker) word(w string) {
	digits := 0
	for i := 0; i < len(w); i++ {
		if digit(w[i]) {
			digits++
		}
	}
	switch {
	case digits == 0 && len(w) > maxWordBytes:
		m.out = append(m.out, '*')
	case digits == 0:
		if n := len(m.out); w == "T" && n > m.start && m.out[n-1] == '#' {
			return
		}
		m.out = append(m.out, w...)
	case digits == len(w) || random(w) || strings.HasPrefix(w, "0x"):
		m.number()
	default:
		for i := 0; i < len(w); {
			if !digit(w[i]) {
				m.out = append(m.out, w[i])
				i++
				continue
			}
			for i < len(w) && digit(w[i]) {
				i++
			}
			m.number()
			if digit(w[0]) && unit(w[i:]) {
				return
			}
		}
	}
}

// maxWordBytes is the length up to which letters may be a word.
const maxWordBytes = 32

// random reports whether a word looks as if it were random: an id or a digest.
func random[T string | []byte](w T) bool {
	digits, hex, turns := 0, 0, 0
	for i := 0; i < len(w); i++ {
		d := digit(w[i])
		if d {
			digits++
		}
		if d || w[i] >= 'a' && w[i] <= 'f' || w[i] >= 'A' && w[i] <= 'F' || w[i] == '-' {
			hex++
		}
		if i > 0 && d != digit(w[i-1]) {
			turns++
		}
	}
	return len(w) > maxWordBytes || turns >= 4 || digits > 0 && hex == len(w) && len(w) >= 6
}

// unit reports whether what follows a number is a unit of time, or more of a date or duration.
func unit(s string) bool {
	switch s {
	case "ns", "us", "ms", "s", "m", "h", "d", "Z", "KB", "MB", "GB", "kB", "KiB", "MiB", "GiB", "B", "b":
		return true
	}
	for _, u := range []string{"h", "m", "T"} { // 1m30s, 2025-01-01T10
		if rest, ok := strings.CutPrefix(s, u); ok && rest != "" && digit(rest[0]) {
			return true
		}
	}
	return false
}

// uuid is the length of the UUID with which s begins, or 0.
func uuid(s string) int {
	if len(s) < 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return 0
	}
	for i := range 36 {
		if c := s[i]; c != '-' && !digit(c) && !(c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return 0
		}
	}
	return 36
}

// ipv6 is the length of the IPv6 address with which s begins, or 0.
func ipv6(s string) int {
	n, colons, digits := 0, 0, 0
	for n < len(s) && (s[n] == ':' || digit(s[n]) || s[n] >= 'a' && s[n] <= 'f' || s[n] >= 'A' && s[n] <= 'F') {
		switch {
		case s[n] == ':':
			colons++
		case digit(s[n]):
			digits++
		}
		n++
	}
	if digits == 0 || colons < 7 && !strings.Contains(s[:n], "::") || n < len(s) && wordy(s[n]) {
		return 0
	}
	return n
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func wordy(c byte) bool  { return letter(c) || digit(c) || c == '_' || c >= 0x80 }
