package workload

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

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
	var order []string // distinct answers, as they came
	nodes := map[string][]string{}
	answers := make([]string, len(c.Nodes))
	var silent []string
	lines := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		answer, err := answerOf(c, node, time.Now().Add(agreementTimeout))
		if err == nil && pattern != nil {
			answer, err = extract(pattern, answer)
		}
		if err == nil && answer == "" {
			err = errors.New("an empty answer")
		}
		if err != nil {
			silent = append(silent, node)
			lines[i] = fmt.Sprintf("%s has no answer: %s", node, clip(oneLine(err.Error())))
			continue
		}
		if nodes[answer] == nil {
			order = append(order, answer)
		}
		nodes[answer] = append(nodes[answer], node)
		answers[i] = answer
	}
	show := excerpt(order)
	for i, node := range c.Nodes {
		if answers[i] != "" {
			lines[i] = fmt.Sprintf("%s says %q", node, show(answers[i]))
		}
	}
	details := "\n" + strings.Join(lines, "\n")
	switch {
	case len(order) > 1:
		return world.ProbeViolated, differ(order, nodes, show) + details
	case len(silent) > 0 && c.Unanswered != world.UnknownIfSilent:
		return world.ProbeViolated, strings.Join(silent, ", ") + " did not answer" + details
	case len(silent) > 0:
		return world.ProbeNoAnswer, strings.Join(silent, ", ") + " did not answer" + details
	}
	return world.ProbeHolds, fmt.Sprintf("%d nodes say %q", len(c.Nodes), clip(order[0]))
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
	return "the nodes differ: " + strings.Join(parts, "; ")
}

// excerpt shows what is too long to be shown whole from a little before the place at which the answers part.
func excerpt(answers []string) func(string) string {
	if len(answers) < 2 {
		return clip
	}
	first, same, long := answers[0], len(answers[0]), false
	for _, a := range answers {
		long = long || len(a) > maxShown
		n := 0
		for n < min(same, len(a)) && a[n] == first[n] {
			n++
		}
		same = n
	}
	from := same - maxShown/3
	if !long || from <= 0 {
		return clip
	}
	return func(a string) string { return "..." + clip(a[from:]) }
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

// extract is the part of an answer that must be the same: all capture groups of the pattern, or what it matches.
func extract(pattern *regexp.Regexp, answer string) (string, error) {
	m := pattern.FindStringSubmatch(answer)
	switch {
	case m == nil:
		return "", fmt.Errorf("%q does not match %s", clip(answer), pattern)
	case len(m) == 1:
		return m[0], nil
	}
	return strings.Join(m[1:], " "), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// limited keeps the first bytes of what a program writes, and takes the rest.
type limited struct{ text []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.text = append(l.text, p[:min(len(p), max(0, maxValueBytes-len(l.text)))]...)
	return len(p), nil
}
