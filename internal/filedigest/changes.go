package filedigest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Text is the digest of a file, as Of gives it, or why there is none.
func Text(path string, stop func() bool) string {
	sum, found := Sum(path, stop)
	switch {
	case !found:
		return "gone"
	case sum == "":
		return "unreadable"
	}
	return sum
}

// Changes compares the files of two runs: digests by path, and names joined by slashes by the path of a folder, which ends with one. changed
// names what is different. perhaps names what only one of the runs opened, or what was not hashed: that may be why the runs differ,
// or follow from it.
func Changes(then, now map[string]string) (changed, perhaps []string) {
	for _, p := range slices.Sorted(maps.Keys(then)) {
		before := then[p]
		after, ok := now[p]
		switch {
		case after == before && ok:
			if !Hashed(after) {
				perhaps = append(perhaps, p+" is too large to hash, or the run ended first: it has the size and date that it had")
			}
		case strings.HasSuffix(p, "/"):
			if ok {
				changed = append(changed, "the folder "+p+" has changed: "+namesChanged(before, after))
			}
		case !ok:
			perhaps = append(perhaps, p+" was opened then and is not now")
		case Hashed(before) != Hashed(after):
			perhaps = append(perhaps, p+" was hashed in one of the two runs only, so it may have changed")
		default:
			changed = append(changed, p+" has changed")
		}
	}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		if _, ok := then[p]; !ok && !strings.HasSuffix(p, "/") {
			perhaps = append(perhaps, p+" is opened now and was not then")
		}
	}
	return changed, perhaps
}

// maxNamesShown bounds the names of a folder that are listed.
const maxNamesShown = 5

// namesChanged tells how two contents of a folder differ.
func namesChanged(then, now string) string {
	const many = "sha256:"
	if strings.HasPrefix(then, many) || strings.HasPrefix(now, many) {
		return "names were added, removed or changed; the run lists them"
	}
	missing := func(from, in string) (names []string) {
		there := strings.Split(in, "/")
		for _, name := range strings.Split(from, "/") {
			if name != "" && !slices.Contains(there, name) {
				names = append(names, name)
			}
		}
		return names
	}
	var parts []string
	if added := missing(now, then); len(added) > 0 {
		parts = append(parts, some(added)+" added")
	}
	if removed := missing(then, now); len(removed) > 0 {
		parts = append(parts, some(removed)+" removed")
	}
	return strings.Join(parts, ", ") + "; the run lists the names in it"
}

func some(names []string) string {
	if more := len(names) - maxNamesShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamesShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Meanwhile names the files of two runs, as Changes has them, that may make the second run another one: those that differ, and those
// that have changed since began (see Now), perhaps during the first run. The times of files decide that: a program can set the time of a
// change of contents, and not that of the inode.
func Meanwhile(began time.Time, then, now map[string]string) []string {
	list, _ := Changes(then, now)
	paths := maps.Clone(now)
	if paths == nil {
		paths = map[string]string{}
	}
	maps.Copy(paths, then)
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		before, both := then[p]
		if after, ok := now[p]; ok && both && after != before || strings.HasSuffix(p, "/") {
			continue // it is in the list; the times of folders change with names that no node sees
		}
		info, err := os.Stat(p)
		if err != nil || !strings.HasPrefix(p, "/") {
			continue // it is gone, or an image
		}
		if at := changeTime(info); !at.Before(began) {
			list = append(list, fmt.Sprintf("%s has changed at %s, while the runs were made", p, at.UTC().Format(time.RFC3339Nano)))
		}
	}
	return list
}
