package explore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

// MaxReasons is the number of distinct reasons that are kept; further ones are counted as OtherReasons.
const MaxReasons = 50

// OtherReasons is the text of reasons beyond MaxReasons.
const OtherReasons = "other reasons"

// Reason is why operations of a type, fail or info, were not ok: the error that their driver gave.
type Reason struct {
	Type  history.Type `json:"type"`
	Text  string       `json:"text"`
	Count uint64       `json:"count"`
}

// countReasons counts the reasons of a history.
func countReasons(h []history.Event) []Reason {
	counts := map[Reason]uint64{}
	for i := range h {
		if t := h[i].Type; t == history.Fail || t == history.Info {
			counts[Reason{Type: t, Text: reason(h[i].Error)}]++
		}
	}
	var all []Reason
	for r, n := range counts {
		all = append(all, Reason{r.Type, r.Text, n})
	}
	sortReasons(all)
	return mergeReasons(nil, all)
}

// sortReasons puts the most frequent reasons of each type first.
func sortReasons(list []Reason) {
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
}

// mergeReasons adds reasons to a list in which each stands once, the most frequent first.
func mergeReasons(list, more []Reason) []Reason {
	for _, r := range more {
		find := func(text string) int {
			return slices.IndexFunc(list, func(k Reason) bool { return k.Type == r.Type && k.Text == text })
		}
		i := find(r.Text)
		if i < 0 && len(list) >= MaxReasons {
			r.Text = OtherReasons
			i = find(r.Text)
		}
		if i >= 0 {
			list[i].Count += r.Count
		} else {
			list = append(list, r)
		}
	}
	sortReasons(list)
	return list
}

// maxReasonBytes bounds the text of a reason.
const maxReasonBytes = 200

// reason takes out of an error what differs from one connection to the next: the client's own address.
func reason(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if _, to, ok := strings.Cut(word, "->"); ok && to != "" {
			words[i] = to
		}
	}
	text = strings.ToValidUTF8(strings.Join(words, " "), "")
	if len(text) > maxReasonBytes {
		text = strings.ToValidUTF8(text[:maxReasonBytes], "") + "..."
	}
	if text == "" {
		return "the driver gives no reason"
	}
	return text
}
