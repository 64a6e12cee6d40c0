package history

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

// sound refuses what encoding/json reads in silence and what would make two values one: half of a surrogate pair, which
// becomes U+FFFD whatever it was; a field that occurs twice, of which the last one wins; and names in other letters.
// It looks at lines that are JSON; of others it says nothing certain.
func sound(line []byte) error {
	depth := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			begin := i + 1
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] != '\\' {
					continue
				}
				i++
				if unit, ok := escaped(line, i); ok && unit >= 0xd800 && unit < 0xe000 {
					low, ok := escaped(line, i+6)
					if unit >= 0xdc00 || !ok || line[i+5] != '\\' || low < 0xdc00 || low >= 0xe000 {
						return errors.New("half of a surrogate pair is not valid UTF-8; encode binary values, for example as base64")
					}
					i += 10
				}
			}
			if depth != 1 || !isName(line, i+1) {
				continue
			}
			name := string(line[begin:min(i, len(line))])
			for _, c := range name {
				if c >= 'A' && c <= 'Z' {
					return fmt.Errorf("json: unknown field %q", name)
				}
			}
		}
	}
	return strictjson.Unique(line)
}

// escaped is the UTF-16 unit of an escape whose u is at line[i].
func escaped(line []byte, i int) (uint64, bool) {
	if i < 0 || i+5 > len(line) || line[i] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(line[i+1:i+5]), 16, 16)
	return unit, err == nil
}

// isName reports whether the string that ends before line[i] is the name of a field.
func isName(line []byte, i int) bool {
	for ; i < len(line); i++ {
		switch line[i] {
		case ' ', '\t':
		case ':':
			return true
		default:
			return false
		}
	}
	return false
}
