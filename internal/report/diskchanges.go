package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// changesAround chooses the changes of files that a story shows, up to the violation: the last ones before each fault of a node and
// the first ones after its end, those within the operations of the evidence, all that failed or were lost, and the last names that were
// taken away.
func changesAround(all []record.DiskChange, injections []fault.Injection, operations []history.Operation, at int64) (list []record.DiskChange) {
	show := map[int]bool{}
	around := func(node string, begin, end int64) {
		before, after := 0, 0
		for i := len(all) - 1; i >= 0 && before < StoryChanges; i-- {
			if c := &all[i]; c.Node == node && c.TimeNs <= begin && c.Call != record.Lost {
				show[i] = true
				before++
			}
		}
		for i := 0; i < len(all) && after < StoryChanges; i++ {
			if c := &all[i]; c.Node == node && c.TimeNs >= end && c.TimeNs > begin {
				show[i] = true
				after++
			}
		}
	}
	for i := range injections {
		if f := &injections[i]; f.Node != "" {
			around(f.Node, f.StartNs, f.EndNs)
		}
	}
	for i := range all {
		if c := &all[i]; c.Call == record.Lost || c.Errno != "" || c.Short > 0 {
			show[i] = true
		} else if c.Fault != "" {
			around(c.Node, c.TimeNs, c.TimeNs)
		}
	}
	for k := range operations {
		op, within := &operations[k], 0
		for i := range all {
			if c := &all[i]; c.Event > op.Call && c.Event < op.Return && within < StoryChanges {
				show[i] = true
				within++
			}
		}
	}
	removals := map[string]int{}
	for i := len(all) - 1; i >= 0 && len(injections) > 0; i-- {
		if c := &all[i]; c.Removes() && c.TimeNs <= at && c.TimeNs >= injections[0].StartNs && removals[c.Node] < StoryRemovals {
			show[i] = true
			removals[c.Node]++
		}
	}
	shown := 0
	for i := len(all) - 1; i >= 0 && shown < maxChangesShown; i-- {
		if show[i] && all[i].TimeNs <= at {
			shown++
			list = append(list, all[i])
		}
	}
	slices.SortStableFunc(list, func(a, b record.DiskChange) int { return cmp.Compare(a.Event, b.Event) })
	return list
}

// withoutTemporary leaves out how files came about that were renamed then. The renaming tells how much they had, and whether that
// was synchronised.
func withoutTemporary(all []record.DiskChange) (list []record.DiskChange) {
	out := make([]bool, len(all)) // which are left out
	list = slices.Clone(all)
	for i := range list {
		c := &list[i]
		if !strings.HasPrefix(c.Call, "rename") || c.Errno != "" || c.Old == "" {
			continue
		}
		var made []int
		size, synced, plain, begun := int64(0), false, true, false
		for j := i - 1; j >= 0; j-- {
			m := &list[j]
			if m.Node != c.Node || m.Path != c.Old {
				continue
			}
			plain = plain && m.Errno == "" && m.Fault == "" && m.Short == 0 && m.Call != record.Lost && m.Old == ""
			synced = synced || syncs(m)
			size = max(size, m.To)
			made = append(made, j)
			if begun = opens(m); begun {
				break
			}
		}
		if !plain || !begun || size == 0 {
			continue
		}
		c.To, c.Durable = size, synced
		for _, j := range made {
			out[j] = true
		}
	}
	kept := list[:0]
	for i := range list {
		if !out[i] {
			kept = append(kept, list[i])
		}
	}
	return kept
}

func syncs(c *record.DiskChange) bool { return c.Call == "fsync" || c.Call == "fdatasync" }
func opens(c *record.DiskChange) bool {
	return slices.Contains([]string{"open", "openat", "openat2", "creat"}, c.Call)
}

// maxChangesShown bounds the changes of files in a story, the last ones before the violation.
const maxChangesShown = 60

// changeEntry is a change of a file as a line of a timeline.
func changeEntry(c *record.DiskChange) entry {
	text := changeText(c)
	if c.Fault != "" {
		return entry{c.TimeNs, c.Event, "fault", fmt.Sprintf("%s %s: %s", c.Fault, c.Node, text), ""}
	}
	key := ""
	switch {
	case c.Errno != "" || c.Short != 0 || c.Call == record.Lost:
	case strings.HasPrefix(c.Call, "unlink"):
		key = "file unlink"
	default:
		key = "file " + c.Call + " " + c.Path
	}
	return entry{c.TimeNs, c.Event, c.Node, "| " + text, key}
}

// changeText says what a change was.
func changeText(c *record.DiskChange) string {
	path := clip(c.Path)
	text := c.Call + " " + path
	switch {
	case c.Call == record.Lost && c.Restored && c.Old != "":
		return "the new disk lacks the latest creation, rename or removal of " + path
	case c.Call == record.Lost && c.Restored && c.From != c.To && c.From < c.To:
		return fmt.Sprintf("the new disk has %d of the %s of %s", c.From, plural.Count(c.To, "byte"), path)
	case c.Call == record.Lost && c.Restored:
		return "the new disk has other content of " + path
	case c.Call == record.Lost && c.Old != "":
		return "the power loss took back the latest creation, rename or removal of " + path
	case c.Call == record.Lost && c.From != c.To && c.From < c.To:
		return fmt.Sprintf("the power loss left %d of the %s of %s", c.From, plural.Count(c.To, "byte"), path) + pages(c, " and the old content of ")
	case c.Call == record.Lost:
		if c.Pages == 0 {
			return "the power loss took back the content of " + path
		}
		return "the power loss took back the content of " + pages(c, "") + " of " + path
	case opens(c):
		if text = c.Call + " " + path; c.Errno == "" {
			text += " and empty it"
		}
	case c.Old != "":
		text = fmt.Sprintf("%s %s to %s", c.Call, clip(c.Old), path)
		if c.Durable {
			text += fmt.Sprintf(", with %s, synchronised", plural.Count(c.To, "byte"))
		} else if c.To > 0 {
			text += fmt.Sprintf(", with %s, not synchronised", plural.Count(c.To, "byte"))
		}
	case c.Short > 0:
		text += fmt.Sprintf(" at byte %d: only %d of %s %s written", c.From, c.To-c.From, plural.Count(c.Short, "byte"), plural.Verb(c.To-c.From, "is", "are"))
	case c.Call == "ftruncate" || c.Call == "truncate":
		text += fmt.Sprintf(" to %s", plural.Count(c.To, "byte"))
	case strings.Contains(c.Call, "write") && c.Errno == "":
		text += fmt.Sprintf(" bytes %d to %d", c.From, c.To)
	}
	if c.Errno != "" {
		text += " fails: " + c.Errno
	}
	if c.Calls > 1 {
		text += fmt.Sprintf(" (%s, until %s)", plural.Count(c.Calls, "call"), Seconds(c.LastNs))
	}
	return text
}

func pages(c *record.DiskChange, before string) string {
	if c.Pages == 0 {
		return ""
	}
	text := before + plural.Count(c.Pages, "page")
	shown := int64(0)
	for i, r := range c.Rows {
		sep := ", "
		if i == 0 {
			sep = " (bytes "
		}
		text += fmt.Sprintf("%s%d to %d", sep, r.From, r.To)
		shown += (r.To - r.From) / record.DiskPageBytes
	}
	switch {
	case len(c.Rows) == 0:
		return text
	case shown < int64(c.Pages):
		return text + ", ...)"
	}
	return text + ")"
}
