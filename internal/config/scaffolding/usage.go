package scaffolding

import (
	"path"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	// The line that a program prints about its arguments, such as "usage: kvd PORT DATAFILE\n" or "Usage: %s <port>".
	usageLine = lazyregexp.New(`(?i)["'` + "`" + `]usage:?\s+([^"'` + "`" + `\\\n]{1,100})`)
	// A word of it that stands for one value: PORT, <port>, DATA_DIR.
	usageWord = lazyregexp.New(`^<?([A-Za-z][A-Za-z0-9_-]*)>?$`)
)

// maxUsageWords bounds the arguments of a usage line that are guessed.
const maxUsageWords = 6

// usualPort is the port of a program whose usage asks for one and whose source names none.
const usualPort = 8080

// usageOf returns the usage line of a program without the word "usage", and nothing if there is none.
func usageOf(text string) string {
	line := strings.TrimSpace(firstGroup(usageLine, text))
	if !strings.Contains(line, " ") {
		return ""
	}
	return line
}

// fillUsage guesses the arguments that a usage line asks for: ports, and files and folders on a volume. It leaves out
// optional ones in brackets. It reports false if the line asks for anything else, and changes nothing then.
func (s *server) fillUsage(title string) (arguments []string, ok bool) {
	if s.usage == "" {
		return nil, false
	}
	port, data := s.port, s.data
	for _, word := range strings.Fields(s.usage)[1:] {
		if strings.HasPrefix(word, "[") {
			break
		}
		m := usageWord.FindStringSubmatch(word)
		if m == nil || len(arguments) == maxUsageWords || m[1] == strings.ToLower(m[1]) && !strings.HasPrefix(word, "<") {
			return nil, false
		}
		switch name := strings.ToUpper(m[1]); {
		case strings.Contains(name, "PORT"):
			if port == 0 {
				port = usualPort
			}
			arguments = append(arguments, strconv.Itoa(port))
		case strings.Contains(name, "DIR"), strings.Contains(name, "FOLDER"):
			data = dataMount
			arguments = append(arguments, dataMount)
		case strings.Contains(name, "FILE"), strings.Contains(name, "PATH"), strings.Contains(name, "DB"):
			data = dataMount
			arguments = append(arguments, path.Join(dataMount, title+".data"))
		default:
			return nil, false
		}
	}
	if len(arguments) == 0 {
		return nil, false
	}
	s.port, s.data = port, data
	return arguments, true
}
