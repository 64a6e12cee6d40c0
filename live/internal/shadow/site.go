package shadow

import "fmt"

// Site is a place of the instrumented code, by whose number in a list second bodies name it.
type Site struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Func string `json:"func"`
	Kind string `json:"kind"` // branch, case, index, division, key, length, lost
	Text string `json:"text"` // the expression
}

func (s Site) String() string {
	if s.File == "" {
		return s.Text
	}
	return fmt.Sprintf("%s:%d %s", s.File, s.Line, s.Text)
}

// SitesVariable is the environment variable that names the file with that list.
const SitesVariable = "BLOODHOUND_LIVE_SITES"
