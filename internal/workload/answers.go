package workload

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of how answers are compared and shown.
const (
	maxDiffLines    = 20   // of all nodes together, but for the least of each
	leastDiffLines  = 3    // of one node
	maxAnswerLines  = 36   // of a verdict: no more are kept of what a check prints
	maxDecodedLines = 2000 // of one answer; what follows is compared as one line
	maxLeafBytes    = 120  // a value that is longer is taken apart
)

// decoded is an answer as lines that can be compared: a line for each small value of JSON, with its path, and each line of other
// text.
func decoded(parts []string) (lines []string) {
	for _, part := range parts {
		lines = append(lines, decodedPart(part)...)
	}
	if len(lines) > maxDecodedLines {
		rest := strings.Join(lines[maxDecodedLines:], "\n")
		lines = append(lines[:maxDecodedLines:maxDecodedLines], rest)
	}
	return lines
}

func decodedPart(part string) (lines []string) {
	if !strings.HasPrefix(part, "{") && !strings.HasPrefix(part, "[") {
		return strings.Split(part, "\n")
	}
	in := json.NewDecoder(strings.NewReader(part))
	in.UseNumber()
	var value any
	if in.Decode(&value) != nil {
		return strings.Split(part, "\n")
	}
	lines = unfold(nil, "", value)
	// A pattern may match more than a value.
	if rest := strings.TrimSpace(part[in.InputOffset():]); rest != "" {
		lines = append(lines, rest)
	}
	return lines
}

// unfold writes a value of JSON as a line if it is small, or else what it has. Elements of lists have no number, so that one that is
// missing does not change the lines of those behind it.
func unfold(lines []string, path string, value any) []string {
	text := shown(value)
	prefix := ""
	if path != "" {
		prefix = path + ": "
	}
	switch v := value.(type) {
	case map[string]any:
		if path != "" && len(text) <= maxLeafBytes || len(v) == 0 {
			break
		}
		for _, name := range sortedNames(v) {
			lines = unfold(lines, strings.TrimPrefix(path+"."+name, "."), v[name])
		}
		return lines
	case []any:
		if len(text) <= maxLeafBytes/2 && path != "" || len(v) == 0 {
			break
		}
		for _, element := range v {
			lines = unfold(lines, path+"[]", element)
		}
		return lines
	}
	return append(lines, prefix+text)
}

func sortedNames(v map[string]any) []string {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// shown is a value of JSON in one line. Texts that are base64 of something that can be read are shown decoded.
func shown(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var fields []string
		for _, name := range sortedNames(v) {
			fields = append(fields, name+": "+shown(v[name]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, shown(e))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case string:
		if plain, ok := fromBase64(v); ok {
			return fmt.Sprintf("%q (base64 of %q)", v, plain)
		}
		return fmt.Sprintf("%q", v)
	case nil:
		return "null"
	}
	return fmt.Sprint(value)
}

// fromBase64 decodes a text that is base64 of text that can be read, as APIs of JSON write bytes.
func fromBase64(text string) (string, bool) {
	if len(text) < 4 || len(text)%4 != 0 {
		return "", false
	}
	plain, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding.Strict(), strings.NewReader(text)))
	if err != nil || !utf8.Valid(plain) {
		return "", false
	}
	for _, r := range string(plain) {
		if !unicode.IsPrint(r) {
			return "", false
		}
	}
	return string(plain), true
}

// difference lists the lines that one answer has and another one lacks: - of the first, + of the second, in their order, up to a number of them. more counts
// the others.
func difference(first, second []string, most int) (lines []string, more int) {
	add := func(sign, line string) {
		if len(lines) == most {
			more++
			return
		}
		lines = append(lines, sign+" "+clip(oneLine(line)))
	}
	for len(first) > 0 && len(second) > 0 && first[0] == second[0] {
		first, second = first[1:], second[1:]
	}
	for len(first) > 0 && len(second) > 0 && first[len(first)-1] == second[len(second)-1] {
		first, second = first[:len(first)-1], second[:len(second)-1]
	}
	// common[i][k] is the length of the longest common subsequence of first[i:] and second[k:].
	common := make([][]int32, len(first)+1)
	for i := range common {
		common[i] = make([]int32, len(second)+1)
	}
	for i := len(first) - 1; i >= 0; i-- {
		for k := len(second) - 1; k >= 0; k-- {
			if first[i] == second[k] {
				common[i][k] = common[i+1][k+1] + 1
			} else {
				common[i][k] = max(common[i+1][k], common[i][k+1])
			}
		}
	}
	i, k := 0, 0
	for i < len(first) || k < len(second) {
		switch {
		case i < len(first) && k < len(second) && first[i] == second[k]:
			i, k = i+1, k+1
		case k == len(second) || i < len(first) && common[i+1][k] >= common[i][k+1]:
			add("-", first[i])
			i++
		default:
			add("+", second[k])
			k++
		}
	}
	return lines, more
}
