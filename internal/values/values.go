// Package values spells the values of histories. Checks compare values by their spelling: two values of one history are spelt alike exactly
// if the format of the history takes them for equal. The number 1 is spelt 1, and the text "1" is spelt "1", with its quotes; a text that
// can be taken for nothing else is spelt as it is.
package values

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// Null is the spelling of null and nil.
const Null = "null"

// Text spells a text of JSON.
func Text(text string) string {
	if isOther(text) {
		return string(AppendQuoted(nil, text))
	}
	return text
}

// isOther reports whether a text looks like the spelling of another value, or of a text in quotes.
func isOther(text string) bool {
	if text == "" {
		return false
	}
	switch c := text[0]; {
	case c == '"' || c == '[' || c == '{':
		return true
	case c >= '0' && c <= '9' || c == '-':
		return looksLikeNumber(text)
	case c == 't' || c == 'f' || c == 'n':
		return text == "true" || text == "false" || text == Null
	}
	return false
}

// looksLikeNumber reports whether a text has only what the numbers of JSON and EDN are spelt with.
func looksLikeNumber(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9' && strings.Trim(digits, "0123456789.eE+-/M") == ""
}

// TextOfEDN spells a text of EDN, which has more kinds of values than JSON: :a is a keyword, #{} a set, \a a character, 'a a symbol.
// The empty text is spelt "", since nil has no spelling where a value may be missing.
func TextOfEDN(text string) string {
	if text == "" || isOther(text) || strings.IndexByte(`:#\'`, text[0]) >= 0 {
		return string(AppendQuoted(nil, text))
	}
	return text
}

// AsText is the text that TextOfEDN spelt so, or false if it is the spelling of another value.
func AsText(spelling string) (string, bool) {
	if spelling == "" {
		return "", false
	}
	if spelling[0] == '"' {
		var text string
		err := json.Unmarshal([]byte(spelling), &text)
		return text, err == nil
	}
	return spelling, TextOfEDN(spelling) == spelling
}

// AppendQuoted appends a text as JSON has it.
func AppendQuoted(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(text)
			if err != nil {
				panic(fmt.Sprintf("values: invalid JSON: %v", err)) // Marshal takes every text
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// OfJSON spells a value of JSON. Numbers are equal by value, 1 and 1.0 too, and objects by their content. What is no JSON stays as it is.
func OfJSON(raw string) string {
	if raw == "" {
		return raw
	}
	switch c := raw[0]; {
	case c == '"' && strings.IndexByte(raw, '\\') < 0 && len(raw) > 1:
		if text := raw[1 : len(raw)-1]; !isOther(text) {
			return text
		}
		return raw
	case c == '"':
		var text string
		if json.Unmarshal([]byte(raw), &text) != nil {
			return raw
		}
		return Text(text)
	case c == '[' || c == '{':
		d := json.NewDecoder(strings.NewReader(raw))
		d.UseNumber()
		var value any
		if d.Decode(&value) != nil {
			return raw
		}
		return string(appendJSON(nil, value))
	}
	return Number(raw)
}

// appendJSON appends a decoded value in its one form: without spaces, keys in order.
func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case json.Number:
		return append(b, Number(v.String())...)
	case string:
		return AppendQuoted(b, v)
	case []any:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, v[i])
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(append(AppendQuoted(b, name), ':'), v[name])
		}
		return append(b, '}')
	case bool:
		return fmt.Append(b, v)
	}
	return append(b, Null...)
}

// maxPlainDigits bounds the whole numbers that are spelt digit by digit; longer ones have an exponent.
const maxPlainDigits = 1000

// isShortest reports whether a number is an integer, as nearly all are, and not too long.
func isShortest(text string) bool {
	for i := range len(text) {
		if c := text[i]; c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return text != "-0" && len(text) <= maxPlainDigits
}

// Number spells a decimal number by its value: 1, 1.0 and 10e-1 are 1. What is no number stays as it is.
func Number(text string) string {
	if isShortest(text) {
		return text
	}
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, power := rest, new(big.Int)
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa = rest[:i]
		if _, ok := power.SetString(strings.TrimPrefix(rest[i+1:], "+"), 10); !ok {
			return text
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole+fraction == "" {
		return text
	}
	if digits == "" {
		return "0"
	}
	shorter := strings.TrimRight(digits, "0")
	power.Add(power, big.NewInt(int64(len(digits)-len(shorter)-len(fraction))))
	var b bytes.Buffer
	if negative {
		b.WriteByte('-')
	}
	zeros := power.Int64()
	switch places := int64(len(shorter)) + zeros; {
	case !power.IsInt64() || places > maxPlainDigits || places < -maxPlainDigits:
		fmt.Fprintf(&b, "%se%s", shorter, power)
	case zeros >= 0:
		b.WriteString(shorter + strings.Repeat("0", int(zeros)))
	case places <= 0:
		b.WriteString("0." + strings.Repeat("0", int(-places)) + shorter)
	default:
		b.WriteString(shorter[:places] + "." + shorter[places:])
	}
	return b.String()
}
