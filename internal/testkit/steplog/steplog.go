// Package steplog reads the output of a step of GitHub Actions as the runner does, for tests.
package steplog

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Log reads the output of a step as GitHub's runner does (ActionCommand.TryParseV2 and TryParse, ActionCommandManager.TryProcessCommand,
// StreamReader.ReadLine). It is stricter: characters that a comparison may ignore are left out.
type Log struct {
	Token    string   // turns commands on again; empty: they are on
	Commands []string // that the runner executes
}

// workflowCommands are the names that the runner knows.
var workflowCommands = []string{"error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "add-matcher",
	"remove-matcher", "set-env", "set-output",
	"save-state", "add-path", "echo", "internal-set-repo-path", "stop-commands"}

func (l *Log) command(line string) (name, data string, ok bool) {
	known := func(info string) bool {
		name, _, _ = strings.Cut(info, " ")
		return slices.Contains(workflowCommands, strings.ToLower(name)) || l.Token != "" && strings.EqualFold(name, l.Token)
	}
	trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
	if rest, is := strings.CutPrefix(trimmed, "::"); is {
		if info, data, is := strings.Cut(rest, "::"); is && known(info) {
			return name, data, true
		}
	}
	if _, rest, is := strings.Cut(line, "##["); is {
		if info, data, is := strings.Cut(rest, "]"); is && known(info) {
			return name, data, true
		}
	}
	return "", "", false
}

// Read reads more of the output.
func (l *Log) Read(text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r == 0 {
			return -1
		}
		return r
	}, text)
	for _, line := range regexp.MustCompile("\r\n|\r|\n").Split(text, -1) {
		name, data, ok := l.command(line)
		switch {
		case !ok:
		case l.Token != "":
			if strings.EqualFold(name, l.Token) {
				l.Token = ""
			}
		case name == "stop-commands":
			l.Token = data
		default:
			l.Commands = append(l.Commands, line)
		}
	}
}
