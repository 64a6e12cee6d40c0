package shell

import (
	"errors"
	"fmt"
	"strings"
)

// Words splits a command line into words as a shell does it: blanks separate, quotes and backslashes keep. Nothing
// is expanded, and what only a shell can do is an error (POSIX.1-2017, XCU 2.2 and 2.3).
func Words(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quoted := false, false
	flush := func() error {
		if !inWord {
			return nil
		}
		if w := word.String(); !quoted && isOperator(w) {
			return fmt.Errorf("%s needs a shell", w)
		}
		words = append(words, word.String())
		word.Reset()
		inWord, quoted = false, false
		return nil
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n', '\r':
			if err := flush(); err != nil {
				return nil, err
			}
		case '\\':
			i++
			if i == len(line) {
				return nil, errors.New("no character follows the last backslash")
			}
			if line[i] != '\n' { // an escaped end of line joins two lines
				word.WriteByte(line[i])
				inWord, quoted = true, true
			}
		case '\'', '"':
			inWord, quoted = true, true
			end, err := quotedWord(&word, line[i+1:], c)
			if err != nil {
				return nil, err
			}
			i += 1 + end
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	return words, flush()
}

// quotedWord appends the text up to the closing quote, and returns that quote's place.
func quotedWord(word *strings.Builder, text string, quote byte) (int, error) {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i, nil
		case quote == '"' && text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`\n", text[i+1]) >= 0:
			i++
			if text[i] != '\n' {
				word.WriteByte(text[i])
			}
		default:
			word.WriteByte(text[i])
		}
	}
	return 0, fmt.Errorf("the quote %c is not closed", quote)
}

// isOperator reports whether a word has a meaning to a shell alone.
func isOperator(w string) bool {
	switch w {
	case "&&", "||", "|", ";", "&", ">", ">>", "<", "<<", "2>", "2>>", "2>&1", ">&2", "&>":
		return true
	}
	return len(w) > 1 && strings.HasSuffix(w, ";")
}

// Join writes words as a line that Words splits into them again.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Quote puts a word in single quotes if a shell would not take it as it is.
func Quote(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@,+%", r))
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
