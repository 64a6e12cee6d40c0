package coverage

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// headBytes is the length of a Head.
const headBytes = 24

// Head says what kind of message a write of a program is, by its first bytes: the command of Redis' protocol, the method and
// path of HTTP/1, the frames of HTTP/2, the type bytes of PostgreSQL's protocol, the words or first bytes of another one. What varies
// between two messages of one kind is left out. It ends with zero bytes.
type Head [headBytes]byte

// String is the head in words.
func (h *Head) String() string { return strings.TrimRight(string(h[:]), "\x00") }

// header builds a Head.
type header struct {
	head Head
	n    int
}

func (h *header) put(s string) {
	h.n += copy(h.head[h.n:], s)
}

func (h *header) byte(c byte) {
	if h.n < headBytes {
		h.head[h.n] = c
		h.n++
	}
}

const hexDigits = "0123456789abcdef"

func (h *header) hex(c byte) {
	h.byte(hexDigits[c>>4])
	h.byte(hexDigits[c&15])
}

// word puts the letters of s[i:], in capitals if up is set, with digits masked and what looks like an id as *; it reports where
// they end.
func (h *header) word(s []byte, i int, up bool) int {
	end := i
	for end < len(s) && (letter(s[end]) || digit(s[end]) || s[end] == '_' || s[end] == '-') {
		end++
	}
	if random(s[i:end]) {
		h.byte('*')
		return end
	}
	for ; i < end; i++ {
		switch c := s[i]; {
		case digit(c):
			if h.n == 0 || h.head[h.n-1] != '#' {
				h.byte('#')
			}
		case up && c >= 'a' && c <= 'z':
			h.byte(c - 'a' + 'A')
		default:
			h.byte(c)
		}
	}
	return end
}

// HeadOf is the kind of a message that begins with data.
func HeadOf(data []byte) Head { return new(Protocol).Head(data) }

// Protocol is the protocol of one direction of a connection, as its first message shows it. Data that does not start
// like a message of that protocol is the middle of a message that was written in pieces.
type Protocol uint8

const (
	resp Protocol = iota + 1
	http1
	http2
	typed
	objects
	other
)

// Head is the kind of the next message.
func (p *Protocol) Head(data []byte) Head {
	var h header
	known := *p
	if *p = h.message(data, 0); known == 0 || known == other || known == *p {
		return h.head
	}
	if known == http1 && *p == http2 { // an upgrade
		return h.head
	}
	*p = known
	h = header{}
	h.byte('~')
	return h.head
}

// maxDepth bounds how many lengths in front of a message are looked behind.
const maxDepth = 2

// message puts the kind of a message and reports its protocol.
func (h *header) message(b []byte, depth int) Protocol {
	switch {
	case len(b) == 0:
		return other
	case depth < maxDepth && len(b) > 8 && binary.BigEndian.Uint64(b)-1 < uint64(len(b)-8): // looks like a frame of HTTP/2
		h.put("len8 ")
		h.message(b[8:8+binary.BigEndian.Uint64(b)], depth+1)
		return other
	case h.resp(b):
		return resp
	case h.http(b):
		return http1
	case h.http2(b):
		return http2
	case h.typed(b):
		return typed
	}
	if depth < maxDepth {
		if skip, what := prefixed(b); skip > 0 {
			h.put(what)
			h.message(b[skip:], depth+1)
			return other
		}
	}
	switch {
	case !h.text(b):
		h.binary(b)
	case b[0] == '{':
		return objects
	}
	return other
}

// number reads the digits of b[i:] up to CR LF; next is behind these, or 0 if there are none.
func number(b []byte, i int) (v, next int) {
	from := i
	for i < len(b) && digit(b[i]) && i < from+9 {
		v = v*10 + int(b[i]-'0')
		i++
	}
	if i == from || i+1 >= len(b) || b[i] != '\r' || b[i+1] != '\n' {
		return 0, 0
	}
	return v, i + 2
}

// containers are commands of Redis whose second word says what they do.
var containers = []string{"ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "MEMORY", "REPLCONF", "SCRIPT", "SENTINEL", "XGROUP",
	"XINFO", "PUBLISH", "SUBSCRIBE"}

// resp reads a message of RESP, the protocol of Redis: a command, or the kind of a reply.
func (h *header) resp(b []byte) bool {
	switch b[0] {
	case '+', '-':
		if len(b) < 3 || !letter(b[1]) || !h.line(b) {
			return false
		}
		h.byte(b[0])
		h.word(b, 1, false)
		return true
	case ':':
		if _, next := number(b, 1); next == 0 {
			return false
		}
		h.byte(':')
		return true
	case '$':
		if len(b) >= 5 && b[1] == '-' && b[2] == '1' && b[3] == '\r' {
			h.put("$-1")
			return true
		}
		if _, next := number(b, 1); next == 0 {
			return false
		}
		h.byte('$')
		return true
	case '*':
		n, i := number(b, 1)
		if i == 0 {
			return false
		}
		h.byte('*')
		if n == 0 {
			h.byte('0')
			return true
		}
		first := h.n
		if i = h.bulk(b, i); i == 0 {
			return true
		}
		if slices.Contains(containers, string(h.head[first:h.n])) {
			h.byte(' ')
			h.bulk(b, i)
		}
		return true
	}
	return false
}

// bulk puts the string of RESP at b[i], if it is a word; it reports what is behind it, or 0.
func (h *header) bulk(b []byte, i int) int {
	if i >= len(b) || b[i] != '$' {
		return 0
	}
	size, at := number(b, i+1)
	if at == 0 || at >= len(b) || !letter(b[at]) {
		return 0
	}
	h.word(b[:min(at+size, len(b))], at, true)
	return at + size + 2
}

// line reports whether b begins with a line of text that ends with CR LF, as far as one can see.
func (h *header) line(b []byte) bool {
	for i, c := range b {
		if c == '\r' {
			return i+1 < len(b) && b[i+1] == '\n'
		}
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return false
}

var methods = []string{"GET ", "POST ", "PUT ", "DELETE ", "HEAD ", "PATCH ", "OPTIONS "}

// http reads the first line of a message of HTTP/1, or a chunk of its body.
func (h *header) http(b []byte) bool {
	if len(b) > 12 && string(b[:7]) == "HTTP/1." {
		h.put("HTTP ")
		h.put(string(b[9:12]))
		return true
	}
	for _, m := range methods {
		if len(b) <= len(m) || string(b[:len(m)]) != m || b[len(m)] != '/' {
			continue
		}
		h.put(m)
		// The first two parts of the path; what has digits is a key.
		for i, parts := len(m), 0; i < len(b) && b[i] == '/' && parts < 2; parts++ {
			h.byte('/')
			i = h.word(b, i+1, false)
			for i < len(b) && b[i] != '/' && b[i] > ' ' && b[i] != '?' {
				i++
			}
		}
		return true
	}
	i, size := 0, 0
	for i < len(b) && i < 7 && (digit(b[i]) || b[i] >= 'a' && b[i] <= 'f') {
		size = size<<4 + strings.IndexByte(hexDigits, b[i])
		i++
	}
	if i > 0 && i+2 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
		h.put("chunk ")
		h.message(b[i+2:min(len(b), i+2+size)], maxDepth-1)
		return true
	}
	return false
}

var frames = []string{"DATA", "HEADERS", "PRIORITY", "RST", "SETTINGS", "PUSH", "PING", "GOAWAY", "WINDOW", "CONT"}

// http2 reads the types of the frames of a message of HTTP/2 (RFC 9113, section 4.1).
func (h *header) http2(b []byte) bool {
	if len(b) >= 3 && string(b[:3]) == "PRI" {
		h.put("h2 preface")
		return true
	}
	n := 0
	for i := 0; i < len(b); n++ {
		if i+9 > len(b) {
			if n == 0 {
				return false
			}
			break
		}
		size, kind := int(b[i])<<16|int(b[i+1])<<8|int(b[i+2]), b[i+3]
		if int(kind) >= len(frames) || size > 1<<20 || b[i+5]&0x80 != 0 || !frameFits(kind, size, binary.BigEndian.Uint32(b[i+5:])) {
			if n == 0 {
				return false
			}
			break
		}
		i += 9 + size
	}
	h.put("h2")
	for i, k := 0, 0; k < n; k++ {
		h.byte(' ')
		h.put(frames[b[i+3]])
		i += 9 + int(b[i])<<16 + int(b[i+1])<<8 + int(b[i+2])
	}
	return true
}

// frameFits reports whether a frame of HTTP/2 may have this length on this stream.
func frameFits(kind byte, size int, stream uint32) bool {
	switch kind {
	case 0, 1, 9: // DATA, HEADERS, CONTINUATION
		return stream != 0
	case 2:
		return stream != 0 && size == 5
	case 3:
		return stream != 0 && size == 4
	case 4:
		return stream == 0 && size%6 == 0
	case 6:
		return stream == 0 && size == 8
	case 7:
		return stream == 0 && size >= 8
	case 8:
		return size == 4
	}
	return false
}

// typed reads messages that begin with a letter and a length that counts itself, as in PostgreSQL's protocol: the letters of the first
// ones, and the first word of a query.
func (h *header) typed(b []byte) bool {
	n := 0
	for i := 0; i < len(b); n++ {
		if i+5 > len(b) {
			return false
		}
		size := int(binary.BigEndian.Uint32(b[i+1:]))
		if !letter(b[i]) && !digit(b[i]) || size < 4 || size > 1<<24 || n == 0 && i+1+size > len(b) {
			return false
		}
		i += 1 + size
	}
	h.put("msg ")
	for i, k := 0, 0; k < min(n, 8); k++ {
		if k == 0 || h.head[h.n-1] != b[i] { // rows repeat
			h.byte(b[i])
		}
		i += 1 + int(binary.BigEndian.Uint32(b[i+1:]))
	}
	at := 5
	if b[0] == 'P' { // a prepared statement begins with its name
		for at < len(b) && b[at] != 0 {
			at++
		}
		at++
	}
	if (b[0] == 'P' || b[0] == 'Q') && at < len(b) && letter(b[at]) {
		h.byte(' ')
		h.word(b, at, true)
	}
	return true
}

// prefixed reports whether b begins with the length of what follows, in one of the usual forms. Words are no length.
func prefixed(b []byte) (skip int, what string) {
	n := len(b)
	switch {
	case n > 8 && control(b[:8]) && (sizes(binary.BigEndian.Uint64(b), n-8) || sizes(binary.LittleEndian.Uint64(b), n-8)):
		return 8, "len8 "
	case n > 4 && control(b[:4]) && (sizes(uint64(binary.BigEndian.Uint32(b)), n-4) || sizes(uint64(binary.LittleEndian.Uint32(b)), n-4)):
		return 4, "len4 "
	case n > 2 && control(b[:2]) && (sizes(uint64(binary.BigEndian.Uint16(b)), n-2) || sizes(uint64(binary.LittleEndian.Uint16(b)), n-2)):
		return 2, "len2 "
	}
	return 0, ""
}

// control reports whether some byte is none of a text.
func control(b []byte) bool {
	for _, c := range b {
		if c < 0x20 || c >= 0x7f {
			return true
		}
	}
	return false
}

// sizes reports whether v is the length of a message of which rest bytes are there: the message alone, or with others behind it.
func sizes(v uint64, rest int) bool {
	return v > 0 && (v == uint64(rest) || v > 8 && v < uint64(rest) && uint64(rest) < 4*v)
}

// kinds are the members of a JSON message that say what kind it is.
var kinds = []string{`"type":`, `"op":`, `"cmd":`, `"method":`, `"kind":`, `"action":`, `"msg":`, `"t":`, `"k":`}

// searched is how much of a message is searched for a word.
const searched = 128

// text reads a message of words: the kind that a JSON object gives or its first names, else the first two words.
func (h *header) text(b []byte) bool {
	some := b[:min(len(b), searched)]
	if i := bytes.IndexByte(some, '\n'); i > 0 && letter(some[0]) { // behind a line there may be anything
		some = some[:i]
	}
	for _, c := range some {
		if (c < 0x20 || c == 0x7f) && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	if b[0] == '{' || b[0] == '[' {
		h.byte(b[0])
		for _, k := range kinds {
			i := bytes.Index(some, []byte(k))
			if i < 0 {
				continue
			}
			for i += len(k); i < len(some) && some[i] == ' '; i++ {
			}
			if i+1 < len(some) && some[i] == '"' && letter(some[i+1]) {
				h.word(some, i+1, false)
				return true
			}
		}
		h.names(some)
		return true
	}
	if !letter(b[0]) {
		h.byte(b[0])
		return true
	}
	i := h.word(some, 0, false)
	if i+1 < len(some) && some[i] == ' ' && letter(some[i+1]) {
		h.byte(' ')
		h.word(some, i+1, false)
	}
	return true
}

// names puts the names of a JSON object, but not those of objects in it.
func (h *header) names(b []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if depth == 1 && (b[i-1] == '{' || b[i-1] == ',') && i+1 < len(b) && letter(b[i+1]) {
				h.word(b, i+1, false)
				h.byte(',')
			}
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
}

// minNameBytes is the length from which letters in a binary message are taken for a name: of a method, such as
// Raft.AppendEntries, or of a type.
const minNameBytes = 6

// binary reads a message of another protocol: the first two bytes, the second by its size alone unless it is small, and the
// first name in it.
func (h *header) binary(b []byte) {
	h.hex(b[0])
	if len(b) > 1 {
		if b[1] < 0x20 {
			h.hex(b[1])
		} else {
			h.byte('x')
		}
	}
	from := -1
	for i := 0; i < min(len(b), searched); i++ {
		switch named := letter(b[i]) || b[i] == '.' || b[i] == '/' || b[i] == '_'; {
		case named && from < 0 && letter(b[i]):
			from = i
		case !named && from >= 0:
			if i-from >= minNameBytes {
				h.byte(' ')
				for k := from; k < i; k++ {
					h.byte(b[k])
				}
				return
			}
			from = -1
		}
	}
}
