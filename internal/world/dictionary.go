package world

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSpecialBytes bounds a special value.
const maxSpecialBytes = 64 << 10

// Dictionary are special values that programs tend to handle badly, in the syntax of Special: names that programs give a
// meaning of their own, lengths around limits of file systems and databases, and texts that are not what they look like.
var Dictionary = []string{
	"~tmp", "~", ".", "..", "../../etc/passwd", "/", "//", "\\", "-", "--help", "*", "?", "%s%n", "%00", "%2F", "$HOME", "`id`", "{{7*7}}", "con", "nul",
	"null", "NULL", "nil", "undefined", "true", "NaN", "-0", "0x0", "1e309", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
	`" "`, `"\t"`, `"\r\n"`, `"a\nb"`, `"a b"`, `"'"`, `"\""`, `"'; DROP TABLE kv; --"`, "<b>&amp;</b>", `"# comment"`,
	`"\u0000"`, `"a\u0000b"`, `"\u2400"`, `"\ufeff"`, `"\u200b"`, // the real nul, and what looks like nothing
	`"e\u0301"`, `"\u00e9"`, `"\u1100\u1161\u11a8"`, `"\uac01"`, `"\u0130"`, `"\u00df"`, // one text in several forms, and with a case of its own
	`"\u202eabc\u202c"`, `"\u05d0\u05d1"`, `"\u0633\u0644\u0627\u0645"`, // from right to left
	"\U0001F469\u200d\U0001F4BB", `"\ud83d\ude00"`, `"Z\u0335\u0321\u0353"`,
	`"a"*254`, `"a"*255`, `"a"*256`, `"é"*128`, `"a/"*127`, `"a"*1023`, `"a"*1025`, `"a"*4095`, `"a"*4096`, `"a"*4097`, `"long "*13000`,
}

// Special reads a line of a dictionary: a text as it is, or a JSON string, which *N repeats.
func Special(line string) (string, error) {
	if !strings.HasPrefix(line, `"`) {
		return line, checkSpecial(line, 1)
	}
	d := json.NewDecoder(strings.NewReader(line))
	var text string
	if err := d.Decode(&text); err != nil {
		return "", fmt.Errorf("%s is no JSON string", line)
	}
	rest := strings.TrimSpace(line[d.InputOffset():])
	if rest == "" {
		return text, checkSpecial(text, 1)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(rest, "*"))
	if err != nil || n < 1 || rest[0] != '*' {
		return "", fmt.Errorf("after a JSON string stands nothing, or *N with a number of repetitions")
	}
	if err := checkSpecial(text, n); err != nil {
		return "", err
	}
	return strings.Repeat(text, n), nil
}

func checkSpecial(text string, times int) error {
	switch {
	case text == "":
		return fmt.Errorf("an empty text; value_size makes empty values")
	case !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError):
		return fmt.Errorf("a text that is no UTF-8: histories could not hold it")
	case times > maxSpecialBytes/len(text):
		return fmt.Errorf("a text of more than %d bytes", maxSpecialBytes)
	}
	return nil
}
