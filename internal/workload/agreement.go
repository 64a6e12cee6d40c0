package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// agreementTimeout bounds the answer of one node.
const agreementTimeout = 2 * time.Second

// envNode names the node that the script of an agreement is asked about.
const envNode = "BLOODHOUND_NODE"

// probeAgreement asks the same question about each node, and compares the answers.
func probeAgreement(c *world.Check) (int, string) {
	var pattern *regexp.Regexp
	if c.Pattern != "" {
		var err error
		if pattern, err = regexp.Compile(c.Pattern); err != nil {
			return world.ProbeFailed, err.Error()
		}
	}
	if len(c.Nodes) < 2 {
		return world.ProbeFailed, "an agreement needs two nodes"
	}
	answers := make([]answer, len(c.Nodes))
	var order []string // distinct answers, as they came
	nodes, parts := map[string][]string{}, map[string][]string{}
	var silent, strange []string
	for i, node := range c.Nodes {
		a := &answers[i]
		if a.text, a.silent = answerOf(c, node, time.Now().Add(agreementTimeout)); a.silent == nil && a.text == "" {
			a.silent = errors.New("an empty answer")
		}
		if a.silent != nil {
			silent = append(silent, node)
			continue
		}
		found := []string{a.text}
		if pattern != nil {
			if found = extract(pattern, a.text); found == nil {
				a.strange = true
				strange = append(strange, node)
				continue
			}
		}
		a.text = strings.Join(found, " ")
		// What the parts are counts, too: two groups may have the text of one.
		a.key = fmt.Sprintf("%q", found)
		if nodes[a.key] == nil {
			order = append(order, a.key)
			parts[a.key] = found
		}
		nodes[a.key] = append(nodes[a.key], node)
	}
	text := func(key string) string { return strings.Join(parts[key], " ") }
	show := excerpt(order, text)
	var lines []string
	for i, node := range c.Nodes {
		switch a := &answers[i]; {
		case a.silent != nil:
			lines = append(lines, fmt.Sprintf("%s has no answer: %s", node, clip(oneLine(a.silent.Error()))))
		case a.strange:
			lines = append(lines, fmt.Sprintf("%s says %q, which does not match %s", node, clip(a.text), pattern))
		default:
			lines = append(lines, fmt.Sprintf("%s says %q", node, show(a.key)))
		}
	}
	var wrong []string
	if len(silent) > 0 {
		wrong = append(wrong, world.NodesSilent.Say(strings.Join(silent, ", ")))
	}
	if len(strange) > 0 {
		text := world.NodeStrange
		if len(strange) > 1 {
			text = world.NodesStrange
		}
		wrong = append(wrong, text.Say(strings.Join(strange, ", "), pattern))
	}
	if len(order) > 1 {
		headline := differ(order, nodes, show)
		lines = append(lines, differences(order, nodes, parts)...)
		return world.ProbeViolated, headline + below(lines)
	}
	details := below(lines)
	switch {
	case len(wrong) > 0 && c.Unanswered != world.UnknownIfSilent:
		return world.ProbeViolated, strings.Join(wrong, "; ") + details
	case len(wrong) > 0:
		return world.ProbeNoAnswer, strings.Join(wrong, "; ") + details
	}
	return world.ProbeHolds, fmt.Sprintf("%d nodes say %q", len(c.Nodes), clip(text(order[0])))
}

// below are the lines below a headline, as many as are kept.
func below(lines []string) string {
	if more := len(lines) - maxAnswerLines; more > 0 {
		lines = append(slices.Clone(lines[:maxAnswerLines]), fmt.Sprintf("and %d more lines", more))
	}
	return "\n" + strings.Join(lines, "\n")
}

// answer is the answer of one node: nothing, something that does not match the pattern, or something to compare.
type answer struct {
	text    string
	silent  error
	strange bool
	key     string // of what must agree
}

// differences compares the answer that most nodes gave with each other one, line by line and decoded. Short answers, which are
// shown whole, need none.
func differences(order []string, nodes, parts map[string][]string) (lines []string) {
	long := func(key string) bool {
		return len(decoded(parts[key])) > 1 || len(strings.Join(parts[key], " ")) > maxShown
	}
	if !slices.ContainsFunc(order, long) && !slices.ContainsFunc(order, func(key string) bool { return slices.ContainsFunc(parts[key], readable) }) {
		return nil
	}
	most := decoded(parts[order[0]])
	for _, key := range order[1:] {
		verb := map[bool]string{true: "lacks (-) or adds (+)", false: "lack (-) or add (+)"}[len(nodes[key]) == 1]
		lines = append(lines, fmt.Sprintf("compared with %s: %s %s:", strings.Join(nodes[order[0]], ", "), strings.Join(nodes[key], ", "), verb))
		found, more := difference(most, decoded(parts[key]), max(maxDiffLines/(len(order)-1), leastDiffLines))
		for _, line := range found {
			lines = append(lines, "  "+line)
		}
		if more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more lines", more))
		}
	}
	return lines
}

// readable reports whether a text is better read decoded.
func readable(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// differ names the nodes that differ from what most say, or each answer with its nodes.
func differ(order []string, nodes map[string][]string, show func(string) string) string {
	slices.SortStableFunc(order, func(a, b string) int { return len(nodes[b]) - len(nodes[a]) })
	var parts []string
	for i, answer := range order {
		if i == 4 {
			parts = append(parts, fmt.Sprintf("and %d other answers", len(order)-i))
			break
		}
		verb := "say"
		if len(nodes[answer]) == 1 {
			verb = "says"
		}
		parts = append(parts, fmt.Sprintf("%s %s %q", strings.Join(nodes[answer], ", "), verb, show(answer)))
	}
	return world.NodesDiffer.Say(strings.Join(parts, "; "))
}

// excerpt shows what is too long to be shown whole from a little before the place at which the answers part. Answers go by keys.
func excerpt(order []string, text func(key string) string) func(key string) string {
	whole := func(key string) string { return clip(text(key)) }
	if len(order) < 2 {
		return whole
	}
	first := text(order[0])
	same, long := len(first), false
	for _, key := range order {
		a := text(key)
		long = long || len(a) > maxShown
		n := 0
		for n < min(same, len(a)) && a[n] == first[n] {
			n++
		}
		same = n
	}
	from := same - maxShown/3
	if !long || from <= 0 {
		return whole
	}
	return func(key string) string { return "..." + clip(text(key)[from:]) }
}

// answerOf asks about one node.
func answerOf(c *world.Check, node string, deadline time.Time) (string, error) {
	fill := func(s string) string { return strings.ReplaceAll(s, world.NodePlace, node) }
	endpoint := fill(c.Endpoint)
	switch {
	case len(c.Script) > 0:
		ctx, stop := context.WithDeadline(context.Background(), deadline)
		defer stop()
		cmd := exec.CommandContext(ctx, c.Script[0], c.Script[1:]...)
		for i := range cmd.Args {
			cmd.Args[i] = fill(cmd.Args[i])
		}
		cmd.Env = append(cmd.Environ(), envNode+"="+node)
		var said limited
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%w %s", err, said.text)
		}
		return strings.TrimSpace(string(said.text)), nil
	case c.Query != "":
		answer, err := queryRows(endpoint, fill(c.Query), deadline)
		if err == nil && answer == "" {
			answer = "no rows"
		}
		return answer, err
	case strings.HasPrefix(endpoint, "redis:"):
		var words []string
		for _, w := range c.Command {
			words = append(words, fill(w))
		}
		reply, err := askRedis(endpoint, words, deadline)
		if err == nil && reply.kind == '-' {
			return "", errors.New(reply.text)
		}
		if err != nil {
			return "", err
		}
		if reply.kind == '*' && !reply.null && c.Pattern == "" {
			return asJSON(reply), nil // joined by blanks, one element with a blank would be two
		}
		return reply.String(), nil
	}
	reply, err := askHTTP(endpoint, fill(c.Body), maxValueBytes, deadline)
	if reply == nil {
		return "", err
	}
	if reply.status != statusOf(c) {
		return "", fmt.Errorf("status %d instead of %d", reply.status, statusOf(c))
	}
	if err != nil && err != errNoEnd {
		return "", fmt.Errorf("no whole body: %w", err)
	}
	return strings.TrimSpace(string(reply.body)), nil
}

// extract are the parts of an answer that must be the same: all capture groups of the pattern, or what it matches. It is nil
// where nothing matches.
func extract(pattern *regexp.Regexp, answer string) []string {
	m := pattern.FindStringSubmatch(answer)
	if len(m) > 1 {
		return m[1:]
	}
	return m
}

// asJSON writes an array of a redis server so that different arrays have different texts.
func asJSON(r *respReply) string {
	switch {
	case r.null:
		return "null"
	case r.kind == '*':
		var items []string
		for i := range r.items {
			items = append(items, asJSON(&r.items[i]))
		}
		return "[" + strings.Join(items, ",") + "]"
	case r.kind == ':':
		return r.text
	}
	if !utf8.ValidString(r.text) {
		return strconv.Quote(r.text) // JSON would make one character of all that is no text
	}
	text, err := json.Marshal(r.text)
	if err != nil {
		panic("workload: a text is no JSON: " + err.Error())
	}
	return string(text)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// limited keeps the first bytes of what a program writes, and takes the rest.
type limited struct{ text []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.text = append(l.text, p[:min(len(p), max(0, maxValueBytes-len(l.text)))]...)
	return len(p), nil
}
