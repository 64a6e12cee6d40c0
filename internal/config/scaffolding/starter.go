package scaffolding

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// A driver for a person to complete: how to send one request, and clients that do so.
var (
	//go:embed driver/http.py
	httpRequests string
	//go:embed driver/lines.py
	lineRequests string
	//go:embed driver/clients.py
	recordingClients string
)

// StarterDriver returns a driver in Python for HTTP, or for lines of text on TCP.
func StarterDriver(http bool) string {
	if http {
		return httpRequests + "\n\n" + recordingClients
	}
	return lineRequests + "\n\n" + recordingClients
}

// StarterNames are the names of such a driver; the first that is free is used.
var StarterNames = []string{"driver.py", "bloodhound_driver.py"}

// addStarter adds a driver to the sketch's files, unless both names are taken. It returns its name.
func (s *sketch) addStarter(f *folder) string {
	for _, name := range StarterNames {
		if f.has(name) {
			continue
		}
		text := StarterDriver(s.server.http)
		if len(s.server.amounts.changes) > 0 {
			text = s.server.amounts.driver()
		}
		node := s.front
		if node == "" {
			node = "n1"
		}
		port := s.server.port
		if port == 0 {
			port = usualPort
		}
		text = strings.Replace(text, `SERVER, PORT = "n1", 8080`, fmt.Sprintf(`SERVER, PORT = %q, %s`, node, strconv.Itoa(port)), 1)
		if path, ok := strings.CutSuffix(s.server.path, "{key}"); ok && s.server.http && !strings.Contains(path, "?") {
			text = strings.ReplaceAll(text, `"/kv/"`, strconv.Quote(path))
		}
		if s.files == nil {
			s.files = map[string][]byte{}
		}
		s.files[name] = []byte(text)
		return name
	}
	return StarterNames[0]
}
