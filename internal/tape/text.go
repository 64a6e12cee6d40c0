package tape

import (
	"fmt"
	"strconv"
	"strings"
)

// textVersion is the first line of a tape's text form; the number is its version.
const textVersion = "tape 1"

// knownVersion is that number.
const knownVersion = 1

// maxEdits bounds the edits that Parse accepts.
const maxEdits = 1 << 22

// Format writes a tape as text, one edit a line:
//
//	tape 1
//	seed 42
//	default ** 0..
//	set fault/crash/n1 17 = 3
//	reseed net/** 5.. seed 99
//	reseed ** 0.. seed 7 ready
//	reseed ** 0.. seed 8 after 1500000000ns
//
// A stream's name that has a space, a quote or a # in it is written as a quoted Go string. What Parse reads from
// the text makes the same draws as t.
func Format(t Tape) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nseed %d\n", textVersion, t.Seed)
	for _, e := range t.Edits {
		name := quoteName(e.Stream)
		switch e.Op {
		case Set:
			fmt.Fprintf(&b, "set %s %d = %d\n", name, e.From, e.Value)
		case Default:
			if e.To == 0 || e.To == End {
				fmt.Fprintf(&b, "default %s %d..\n", name, e.From)
			} else {
				fmt.Fprintf(&b, "default %s %d..%d\n", name, e.From, e.To)
			}
		case Reseed:
			fmt.Fprintf(&b, "reseed %s %d.. seed %d", name, e.From, e.Seed)
			if e.Ready {
				b.WriteString(" ready")
			}
			if e.AfterNs != 0 {
				fmt.Fprintf(&b, " after %dns", e.AfterNs)
			}
			b.WriteByte('\n')
		default:
			panic("tape: edit with unknown op " + string(e.Op))
		}
	}
	return b.String()
}

func quoteName(name string) string {
	plain := name != ""
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || r == '"' || r == '#' {
			plain = false
		}
	}
	if plain {
		return name
	}
	return strconv.QuoteToASCII(name)
}

// Parse reads the text form of a tape. Empty lines and what follows a # are left out. Errors name the line and
// what was expected.
func Parse(text string) (Tape, error) {
	var t Tape
	state := 0 // 0: the version line is due, 1: the seed line, 2: edits
	for i, line := range strings.Split(text, "\n") {
		words, err := splitLine(line)
		if err != nil {
			return Tape{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		if len(words) == 0 {
			continue
		}
		switch state {
		case 0:
			if strings.Join(words, " ") != textVersion {
				err := fmt.Errorf("line %d: a tape starts with the line %q, not %q", i+1, textVersion, shorten(line))
				if laterText(words) {
					err = fmt.Errorf("%w; a later bloodhound wrote it: use that version or a later one", err)
				}
				return Tape{}, err
			}
		case 1:
			if len(words) != 2 || words[0] != "seed" {
				return Tape{}, fmt.Errorf("line %d: expected \"seed N\", not %q", i+1, shorten(line))
			}
			if t.Seed, err = number(words[1]); err != nil {
				return Tape{}, fmt.Errorf("line %d: %w", i+1, err)
			}
		default:
			if len(t.Edits) == maxEdits {
				return Tape{}, fmt.Errorf("line %d: more than %d edits", i+1, maxEdits)
			}
			e, err := parseEdit(words)
			if err != nil {
				return Tape{}, fmt.Errorf("line %d: %w", i+1, err)
			}
			t.Edits = append(t.Edits, e)
		}
		state = min(state+1, 2)
	}
	if state < 2 {
		return Tape{}, fmt.Errorf("a tape needs at least two lines, %q and \"seed N\"", textVersion)
	}
	return t, nil
}

// laterText reports whether the words of a first line name a version that this program does not know.
func laterText(words []string) bool {
	if len(words) != 2 || words[0] != "tape" {
		return false
	}
	version, err := strconv.Atoi(words[1])
	return err == nil && version > knownVersion
}

func parseEdit(w []string) (Edit, error) {
	var e Edit
	var err error
	bad := func(form string) (Edit, error) {
		return Edit{}, fmt.Errorf("expected %q, not %q", form, shorten(strings.Join(w, " ")))
	}
	switch Op(w[0]) {
	case Set:
		const form = "set STREAM INDEX = VALUE"
		if len(w) != 5 || w[3] != "=" {
			return bad(form)
		}
		e = Edit{Op: Set, Stream: w[1]}
		if e.From, err = number(w[2]); err != nil {
			return Edit{}, err
		}
		e.Value, err = number(w[4])
	case Default:
		const form = "default PATTERN FROM..[TO]"
		if len(w) != 3 {
			return bad(form)
		}
		from, to, ok := strings.Cut(w[2], "..")
		if !ok {
			return bad(form)
		}
		e = Edit{Op: Default, Stream: w[1], To: End}
		if e.From, err = number(from); err != nil {
			return Edit{}, err
		}
		if to != "" {
			if e.To, err = number(to); err == nil && e.To <= e.From {
				return Edit{}, fmt.Errorf("the range %s is empty: draws go from the first number up to, but not including, the second", shorten(w[2]))
			}
		}
	case Reseed:
		const form = "reseed PATTERN FROM.. seed SEED [ready] [after TIMEns]"
		if len(w) < 5 || w[3] != "seed" || !strings.HasSuffix(w[2], "..") {
			return bad(form)
		}
		e = Edit{Op: Reseed, Stream: w[1]}
		rest := w[5:]
		if e.Ready = len(rest) > 0 && rest[0] == "ready"; e.Ready {
			rest = rest[1:]
		}
		switch {
		case len(rest) == 2 && rest[0] == "after" && strings.HasSuffix(rest[1], "ns"):
			if e.AfterNs, err = strconv.ParseInt(strings.TrimSuffix(rest[1], "ns"), 10, 64); err != nil || e.AfterNs <= 0 {
				return Edit{}, fmt.Errorf("%q is not a virtual time: write a number of ns above 0, such as 1500000000ns", shorten(rest[1]))
			}
		case len(rest) > 0:
			return bad(form)
		}
		if e.From, err = number(strings.TrimSuffix(w[2], "..")); err != nil {
			return Edit{}, err
		}
		e.Seed, err = number(w[4])
	default:
		return Edit{}, fmt.Errorf("%q is not an edit; edits are set, default and reseed", shorten(w[0]))
	}
	if err != nil {
		return Edit{}, err
	}
	return e, nil
}

func number(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number from 0 to 2^64-1", shorten(s))
	}
	return v, nil
}

// shorten cuts what an error quotes: a line may be as long as the file.
func shorten(s string) string {
	const most = 100
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// splitLine splits a line into words; a word that starts with a quote is a Go string, a # starts a comment.
func splitLine(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("a quoted name does not end: %s", shorten(line))
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%s is not a valid quoted name", shorten(quoted))
			}
			words = append(words, word)
			line = line[len(quoted):]
			continue
		}
		end := strings.IndexAny(line, " \t\r#")
		if end < 0 {
			end = len(line)
		}
		words = append(words, line[:end])
		line = line[end:]
	}
}
