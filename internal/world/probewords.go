package world

import (
	"fmt"
	"regexp"
	"strings"
)

// ProbeText is something wrong that a probe that comes with Bloodhound has found: its words for people, and a code, by which failures are known. Probes
// write the words and nothing else, since what they write is part of the run.
type ProbeText struct{ Code, Format string }

// All that such probes say of what is wrong. A check of type sql ends with the words of the server.
var (
	WrongStatus  = ProbeText{"status", "%s: status %d instead of %d"}
	WrongBody    = ProbeText{"body", "%s: body %q instead of %q"}
	WrongReply   = ProbeText{"reply", "%s: %s says %q instead of %q"}
	ErrorReply   = ProbeText{"error", "%s: %s says %q"}
	WrongRows    = ProbeText{"rows", "%s: %s gives %q instead of %q"}
	NodesDiffer  = ProbeText{"differ", "the nodes differ: %s"}
	NodesSilent  = ProbeText{"silent", "%s did not answer"}
	NodeStrange  = ProbeText{"strange", "the answer of %s does not match %s"}
	NodesStrange = ProbeText{"strange", "the answers of %s do not match %s"}
	QueryRefused = ProbeText{"refused", "%s: %s: %v"}
)

var probeTexts = []ProbeText{NodesDiffer, NodeStrange, NodesStrange, NodesSilent, WrongStatus, WrongBody, WrongReply, ErrorReply, WrongRows, QueryRefused}

// Say fills in the words.
func (t ProbeText) Say(args ...any) string { return fmt.Sprintf(t.Format, args...) }

// ProbeWrong is the code of what no ProbeText says.
const ProbeWrong = "wrong"

// ProbeCode is the code of what a probe has written.
func ProbeCode(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	for _, t := range probeTexts {
		if t.form().MatchString(line) {
			return t.Code
		}
	}
	return ProbeWrong
}

// form recognises what Say makes.
func (t ProbeText) form() *regexp.Regexp {
	form, rest := "^", t.Format
	for {
		before, after, more := strings.Cut(rest, "%")
		form += regexp.QuoteMeta(before)
		if !more {
			return regexp.MustCompile(form)
		}
		form += map[byte]string{'s': `.*`, 'v': `.*`, 'd': `-?[0-9]+`, 'q': `".*"`}[after[0]]
		rest = after[1:]
	}
}
