package scope

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// What the translator of PlusCal leaves in a module: the algorithm in a comment, and its translation between two marks, with the checksum of both.
var (
	algorithm   = regexp.MustCompile(`--(?:fair[ \t]+)?algorithm\s+\w+`)
	translation = regexp.MustCompile(`(?m)^.*\\\*+[ \t]*BEGIN TRANSLATION\b(.*)\n((?s:.*?))^.*\\\*+[ \t]*END TRANSLATION\b`)
	checksum    = regexp.MustCompile(`(?i)ch(?:ec)?ksum\(tla\+?\)\s*=\s*"([0-9a-f]+)"`)
	moduleEnd   = regexp.MustCompile(`(?m)^[ \t]*={4,}`)
)

// plusCal is a module's algorithm in PlusCal.
type plusCal struct {
	at           Where
	untranslated bool   // it never was
	changed      string // the translation was, after it was made: why that is known
}

// plusCalOf finds the algorithm of a module's file; nil: there is none.
func plusCalOf(s *Source) *plusCal {
	text := strings.ReplaceAll(s.Text, "\r\n", "\n")
	if end := moduleEnd.FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	found := algorithm.FindStringIndex(text)
	if found == nil {
		return nil
	}
	start := strings.LastIndexByte(text[:found[0]], '\n') + 1
	p := &plusCal{at: Where{Source: s, Pos: syntax.Pos{Line: strings.Count(text[:start], "\n") + 1, Column: found[0] - start + 1}}}
	made := translation.FindStringSubmatch(text)
	if made == nil || strings.TrimSpace(made[2]) == "" {
		p.untranslated = true
		return p
	}
	if sum := checksum.FindStringSubmatch(made[1]); sum != nil {
		now := fmt.Sprintf("%x", crc32.ChecksumIEEE([]byte(strings.ReplaceAll(made[2], "\n", ""))))
		if !strings.EqualFold(strings.TrimLeft(sum[1], "0"), now) {
			p.changed = fmt.Sprintf("its checksum was %s and is %s", sum[1], now)
		}
	}
	return p
}

// notePlusCal notes that an algorithm in PlusCal was not translated, or that its translation was changed.
func (l *Loader) notePlusCal(p *plusCal) {
	at := fmt.Sprintf("%s:%d", p.at.Source.File, p.at.Pos.Line)
	switch {
	case p.untranslated:
		l.Notes = append(l.Notes, at+": this algorithm in PlusCal was never translated to TLA+, and is a comment: translate it by pcal.trans or an editor")
	case p.changed != "":
		l.Notes = append(l.Notes, at+": the translation of this algorithm in PlusCal was changed after it was made: "+p.changed)
	}
}

// Untranslated is where a module has an algorithm in PlusCal that was never translated; nil: none has.
func (l *Loader) Untranslated() *Where { return l.untranslated }
