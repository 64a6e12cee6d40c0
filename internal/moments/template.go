package moments

import (
	"path"
	"regexp"
	"strings"
)

// uuid is the usual spelling of one.
var uuid = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

// word matches a part of a name between separators.
var word = regexp.MustCompile(`[0-9A-Za-z]+`)

var digits = regexp.MustCompile(`[0-9]+`)

var stars = regexp.MustCompile(`\*+`)

// hexBytes is how many hexadecimal digits, of which one at least is decimal, are a number and no word.
const hexBytes = 8

// randomBytes is how long a word with several numbers in it is that programs make up: a7Kq20x.
const randomBytes = 6

// Template is a path, or another text, with * in the place of what differs from one file of a kind to the next: numbers, in decimal
// and hexadecimal digits, and random words.
func Template(text string) string {
	text = uuid.ReplaceAllString(text, "*")
	text = word.ReplaceAllStringFunc(text, func(w string) string {
		numbers := len(digits.FindAllString(w, 2))
		if numbers > 0 && len(w) >= hexBytes && isHex(w) || numbers > 1 && len(w) >= randomBytes {
			return "*"
		}
		return digits.ReplaceAllString(w, "*")
	})
	return stars.ReplaceAllString(text, "*")
}

func isHex(w string) bool {
	return strings.Trim(w, "0123456789abcdefABCDEF") == ""
}

// Pattern is a pattern, as of path.Match and without blanks, of the last element of the paths that a template stands for.
func Pattern(template string) string {
	var b strings.Builder
	for _, c := range path.Base(template) {
		switch c {
		case '[', ']', '\\', ' ', '\t', '\n', '\r', ',', '"', '\'':
			c = '?'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// interpreters execute a program that is among their arguments.
var interpreters = regexp.MustCompile(`^(python|perl|ruby|node|sh|bash|dash|java|php|lua)[0-9.]*$`)

// Program is the template of a program's name, with that of the script that it executes.
func Program(file string, argv []string) string {
	name := path.Base(file)
	if interpreters.MatchString(name) && len(argv) > 1 {
		for _, a := range argv[1:] {
			if !strings.HasPrefix(a, "-") && !strings.ContainsAny(a, "\n ") {
				return Template(name + " " + path.Base(a))
			}
		}
	}
	return Template(name)
}

// headBytes is how much of a message Head looks at.
const headBytes = 24

// Head tells kinds of messages apart by their first bytes: it is the template of the first word, or says that there is none.
func Head(data []byte) string {
	data = data[:min(len(data), headBytes)]
	n := 0
	for n < len(data) && data[n] > ' ' && data[n] < 0x7f {
		n++
	}
	if n == 0 || n < len(data) && data[n] != ' ' && data[n] != '\r' && data[n] != '\n' && data[n] != '\t' {
		return "binary"
	}
	return Template(string(data[:n]))
}
