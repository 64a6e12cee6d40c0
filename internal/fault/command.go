package fault

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
)

// quotedCommand reads the command at the beginning of a text, which is in single or double quotes, and returns the rest.
func quotedCommand(text string) (command []string, rest string, err error) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return nil, "", errors.New(`"run" must be followed by a command in quotes, such as: run "etcdctl defrag" on n1 after 5s`)
	}
	quote := text[0]
	var line strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			command, err = ParseCommand(line.String())
			return command, text[i+1:], err
		case quote == '"' && text[i] == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			line.WriteByte(text[i])
		default:
			line.WriteByte(text[i])
		}
	}
	return nil, "", fmt.Errorf("the command after \"run\" has no closing %c", quote)
}

// ParseCommand splits the command of a rule into words, as a shell does. Pipes and the like need `sh -c`.
func ParseCommand(line string) ([]string, error) {
	words, err := shell.Words(line)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the command %q: %w; use sh -c '...'", line, err)
	case len(words) == 0:
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
