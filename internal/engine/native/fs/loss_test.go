//go:build linux

package fs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// step is one call of a script. Bytes are written in whole sectors, so that an image is small.
type step struct {
	call string // create mkdir write rename unlink truncate fsync fdatasync sync
	a, b string
	at   int  // first sector
	n    int  // sectors
	fill byte // content
}

func (o step) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %d+%d %c", o.call, o.a, o.b, o.at, o.n, max(o.fill, ' ')))
}

// play runs a script on an empty disk, loses the power and reports what is there.
func play(t *testing.T, p Profile, script []step, choose Choose) string {
	t.Helper()
	env, _ := testEnv(t.TempDir())
	s, err := New(env, Config{Root: NoLayer})
	if err != nil {
		t.Fatal(err)
	}
	s.StartJournal(p)
	for _, o := range script {
		if e := run(s, env, o); e != errno.OK {
			t.Fatalf("%v: %v", o, e)
		}
		if err := s.Check(); err != nil {
			t.Fatalf("after %v: %v", o, err)
		}
	}
	if e := s.PowerLoss(env, 1, choose); e != errno.OK {
		t.Fatal(e)
	}
	if err := s.Check(); err != nil {
		t.Fatalf("after the power loss: %v", err)
	}
	var lines []string
	for id, in := range s.Inodes {
		if in.Synth != "" || in.MountRoot || in.Mount != 0 {
			continue
		}
		name := s.Name(id)
		if in.isDir() && !slices.Contains([]string{"/d", "/e"}, name) || !in.isDir() && !in.is(S_IFREG) {
			continue
		}
		if in.isDir() {
			lines = append(lines, name+"/")
			continue
		}
		for dir, d := range s.Inodes {
			for n, to := range d.Entries {
				if to == id {
					lines = append(lines, strings.TrimSuffix(s.Name(dir), "/")+"/"+n+" "+sectors(content(s, env, id)))
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// sectors shows a content by the first byte of each sector.
func sectors(b []byte) string {
	var out []byte
	for i := 0; i < len(b); i += sectorBytes {
		c := b[i]
		for _, other := range b[i:min(len(b), i+sectorBytes)] {
			if other != c {
				c = '?'
			}
		}
		out = append(out, max(c, '.'))
	}
	return string(out)
}

func run(s *State, env *Env, o step) errno.Errno {
	open := func(path string, flags int) (InodeID, errno.Errno) {
		got, e := s.Open(env, s.Root(), path, flags, 0o644)
		return got.Inode, e
	}
	switch o.call {
	case "create":
		id, e := open(o.a, O_CREAT|O_EXCL|O_WRONLY)
		if e == errno.OK {
			s.Unref(env, id)
		}
		return e
	case "mkdir":
		return s.Mkdir(env, s.Root(), o.a, 0o755)
	case "rename":
		return s.Rename(env, s.Root(), o.a, s.Root(), o.b, 0)
	case "unlink":
		return s.Unlink(env, s.Root(), o.a)
	case "sync":
		return s.SyncAll(env)
	}
	flags := O_WRONLY
	if o.call == "store" || o.call == "unseen store" || o.call == "msync" || o.call == "failing msync" {
		flags = O_RDWR
	}
	if o.call == "fsync" {
		flags = O_RDONLY
	}
	id, e := open(o.a, flags)
	if e != errno.OK {
		return e
	}
	defer s.Unref(env, id)
	switch o.call {
	case "write":
		_, e = s.WriteAt(env, id, []byte(strings.Repeat(string(o.fill), o.n*sectorBytes)), int64(o.at*sectorBytes))
	case "truncate":
		e = s.Truncate(env, id, int64(o.n*sectorBytes))
	case "fsync":
		e = s.Sync(env, id, false)
	case "fdatasync":
		e = s.Sync(env, id, true)
	case "failing fsync":
		e = s.FailSync(env, id)
	case "store", "unseen store":
		if e = mapped(s, env, id); e == errno.OK {
			stored := []byte(strings.Repeat(string(o.fill), o.n*sectorBytes))
			_, e = env.Blobs.WriteAt(s.inode(id).Blob, stored, int64(o.at*sectorBytes))
		}
		if o.call == "store" && e == errno.OK {
			e = s.Observe(env, id, 0, s.Size(id))
		}
	case "msync":
		e = s.SyncRange(env, id, int64(o.at*sectorBytes), int64((o.at+o.n)*sectorBytes))
	case "failing msync":
		e = s.FailRange(env, id, int64(o.at*sectorBytes), int64((o.at+o.n)*sectorBytes))
	}
	return e
}

// mapped has programs map a file of the disk to store into it.
func mapped(s *State, env *Env, id InodeID) errno.Errno {
	_, e := s.Content(env, id, true)
	if e == errno.OK {
		s.NoteShared(id)
		e = s.Storable(env, id)
	}
	return e
}

// sampled gives all images that PowerLoss can make of a script, by making all its choices in turn; nil if they are more
// than limit.
func sampled(t *testing.T, p Profile, script []step, limit int) map[string]bool {
	images := map[string]bool{}
	var choices, of []uint64
	for range limit {
		i := 0
		images[play(t, p, script, func(_ string, n uint64) uint64 {
			if i == len(choices) {
				choices, of = append(choices, 0), append(of, n)
			}
			of[i] = n
			i++
			return choices[i-1]
		})] = true
		choices, of = choices[:i], of[:i]
		for len(choices) > 0 && choices[len(choices)-1]+1 == of[len(of)-1] {
			choices, of = choices[:len(choices)-1], of[:len(of)-1]
		}
		if len(choices) == 0 {
			return images
		}
		choices[len(choices)-1]++
	}
	return nil
}

// moment is all that exists after one call of a script, in the obvious form.
type moment struct {
	names map[string]int // path to file; 0 is a directory
	files map[int]string // a character for each sector
}

const pageSectors = pageBytes / sectorBytes

// legal lists all images that a profile allows, from the definition and not from the journal.
func legal(p Profile, script []step) map[string]bool {
	now := moment{names: map[string]int{}, files: map[int]string{}}
	moments := []moment{now}
	type fact struct{ at, file, sectors int }
	var metadata []int        // moments of changes of metadata
	var truncations []fact    // of files, to sectors
	var flushes []fact        // of files
	synced := map[int]int{}   // when the data of a file was synchronised last
	dirs := map[string]int{}  // when a directory was
	unsized := map[int]bool{} // files whose size or name is not durable
	durable := 0              // all changes of metadata up to this moment are
	born := map[int]int{}     // files
	pages := map[[2]int]int{} // when a page of a file was synchronised by msync
	// touched are the moments at which a page was written or cut off by a call, or got its room by a store.
	touched := map[[2]int][]int{}
	dirOf := func(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }
	for i, o := range script {
		at := i + 1
		next := moment{names: map[string]int{}, files: map[int]string{}}
		maps.Copy(next.names, now.names)
		maps.Copy(next.files, now.files)
		file := now.names[o.a]
		switch o.call {
		case "create":
			file = at
			next.names[o.a], next.files[file], born[file], unsized[file] = file, "", at, true
			metadata = append(metadata, at)
		case "mkdir":
			next.names[o.a] = 0
			metadata = append(metadata, at)
		case "unlink":
			delete(next.names, o.a)
			metadata = append(metadata, at)
		case "rename":
			if _, over := now.names[o.b]; over {
				flushes = append(flushes, fact{at, file, 0})
			}
			delete(next.names, o.a)
			next.names[o.b] = file
			metadata = append(metadata, at)
		case "truncate":
			if o.n == len(now.files[file]) {
				break
			}
			text := now.files[file] + strings.Repeat(".", o.n)
			next.files[file], unsized[file] = text[:o.n], true
			for page := o.n / pageSectors; page*pageSectors < len(now.files[file]); page++ {
				key := [2]int{file, page}
				touched[key] = append(touched[key], at)
			}
			metadata = append(metadata, at)
			truncations = append(truncations, fact{at, file, o.n})
		case "write":
			text := []byte(now.files[file])
			if len(text) < o.at+o.n {
				unsized[file] = true
			}
			for len(text) < o.at+o.n {
				text = append(text, '.')
			}
			for k := range o.n {
				text[o.at+k] = o.fill
				key := [2]int{file, (o.at + k) / pageSectors}
				touched[key] = append(touched[key], at)
			}
			next.files[file] = string(text)
		case "store", "unseen store":
			text := []byte(now.files[file])
			for k := range o.n {
				first := (o.at + k) / pageSectors * pageSectors
				if strings.Trim(string(text[first:min(len(text), first+pageSectors)]), ".") == "" {
					unsized[file] = true // the page gets its room now
					key := [2]int{file, first / pageSectors}
					touched[key] = append(touched[key], at)
				}
			}
			for k := range o.n {
				text[o.at+k] = o.fill
			}
			next.files[file] = string(text)
		case "msync":
			for page := o.at / pageSectors; page*pageSectors < o.at+o.n; page++ {
				pages[[2]int{file, page}] = at
			}
			if unsized[file] {
				durable = at
			}
			unsized[file] = false
		case "fsync", "fdatasync", "sync":
			if o.call == "sync" {
				for f := range now.files {
					synced[f] = at
				}
				for d := range now.names {
					dirs[d+"/"] = at
				}
				dirs["/"] = at
				durable = at
				break
			}
			if file == 0 {
				dirs[o.a+"/"] = at
				if o.a == "/" {
					dirs["/"] = at
				}
				durable = at
				break
			}
			synced[file] = at
			if o.call == "fsync" || unsized[file] {
				durable = at
			}
			unsized[file] = false
		}
		if durable == at { // what is left to commit is only what has grown since
			for f := range unsized {
				since := max(synced[f], born[f])
				for _, c := range truncations {
					if c.file == f {
						since = max(since, c.at)
					}
				}
				unsized[f] = since < at && len(moments[since].files[f]) != len(now.files[f])
			}
		}
		now = next
		moments = append(moments, now)
	}
	end := len(script)

	images := map[string]bool{}
	// contents lists what a file may hold if the changes of metadata up to cut are durable.
	contents := func(file, cut int) []string {
		data := max(synced[file], born[file])
		first, last, rename := data, end, 0
		for _, f := range flushes {
			if p == Ext4Ordered && f.file == file && f.at <= cut {
				first, rename = max(first, f.at), max(rename, f.at)
			}
		}
		lowest, highest := map[int]int{}, map[int]int{} // from which moment on a page may come, and up to which
		sizes := first
		for _, c := range truncations {
			if p != Ext4Ordered || c.file != file || c.at <= first {
				continue
			}
			if c.at > cut { // what comes later may be there where it was not cut off
				last = min(last, c.at-1)
				for page := c.sectors / pageSectors; page*pageSectors < len(moments[c.at-1].files[file]); page++ {
					if _, cut := highest[page]; !cut {
						highest[page] = c.at - 1
					}
				}
				continue
			}
			sizes = max(sizes, c.at)
			for page := c.sectors / pageSectors; page < 16; page++ {
				lowest[page] = c.at
			}
		}
		set := map[string]bool{}
		base := len(moments[sizes].files[file])
		for m := sizes; m <= last; m++ {
			full := len(moments[m].files[file])
			lengths := []int{full}
			if before := len(moments[max(m-1, sizes)].files[file]); m > sizes && script[m-1].call == "write" && before < full {
				for page := before/pageSectors + 1; page*pageSectors < full; page++ {
					if page*pageSectors > before {
						lengths = append(lengths, page*pageSectors)
					}
				}
			}
			grown := m // the first moment with this size
			for grown > sizes && len(moments[grown-1].files[file]) == full {
				grown--
			}
			for _, length := range lengths {
				texts := []string{""}
				for sector := range length {
					from := max(data, lowest[sector/pageSectors])
					for _, k := range touched[[2]int{file, sector / pageSectors}] { // the rename brings no other stores
						if k <= rename {
							from = max(from, k)
						}
					}
					from = max(from, pages[[2]int{file, sector / pageSectors}])
					if p == Ext4Ordered && sector/pageSectors*pageSectors >= base {
						for _, k := range touched[[2]int{file, sector / pageSectors}] { // stores need not have come that far
							if k <= grown {
								from = max(from, k)
							}
						}
					}
					options := map[byte]bool{}
					to := end
					if until, cut := highest[sector/pageSectors]; cut {
						to = until
					}
					for k := from; k <= to; k++ {
						c := byte('.')
						if text := moments[k].files[file]; sector < len(text) {
							c = text[sector]
						}
						options[c] = true
					}
					var longer []string
					for _, text := range texts {
						for c := range options {
							longer = append(longer, text+string(c))
						}
					}
					texts = longer
				}
				for _, text := range texts {
					set[text] = true
				}
			}
		}
		var list []string
		for text := range set {
			list = append(list, text)
		}
		return list
	}
	image := func(names map[string]int, cut int) {
		var paths []string
		for path := range names {
			if d := strings.TrimSuffix(dirOf(path), "/"); d != "" {
				if _, ok := names[d]; !ok {
					continue
				}
			}
			paths = append(paths, path)
		}
		slices.Sort(paths)
		chosen := map[int]string{}
		var fill func(i int, lines []string)
		fill = func(i int, lines []string) {
			if i == len(paths) {
				sorted := slices.Clone(lines)
				slices.Sort(sorted)
				images[strings.Join(sorted, "; ")] = true
				return
			}
			file := names[paths[i]]
			if file == 0 {
				fill(i+1, append(lines, paths[i]+"/"))
				return
			}
			if text, ok := chosen[file]; ok {
				fill(i+1, append(lines, paths[i]+" "+text))
				return
			}
			for _, text := range contents(file, cut) {
				chosen[file] = text
				fill(i+1, append(lines, paths[i]+" "+text))
			}
			delete(chosen, file)
		}
		fill(0, nil)
	}
	if p == Ext4Ordered {
		cuts := []int{durable}
		for _, m := range metadata {
			if m > durable {
				cuts = append(cuts, m)
			}
		}
		for _, cut := range cuts {
			image(moments[cut].names, cut)
		}
		return images
	}
	all := map[string]bool{}
	for _, m := range moments {
		for path := range m.names {
			all[path] = true
		}
	}
	var paths []string
	for path := range all {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var each func(i int, names map[string]int)
	each = func(i int, names map[string]int) {
		if i == len(paths) {
			image(names, end)
			return
		}
		tried := map[int]bool{}
		for m := dirs[dirOf(paths[i])]; m <= end; m++ {
			file, ok := moments[m].names[paths[i]]
			if !ok {
				file = -1
			}
			if tried[file] {
				continue
			}
			tried[file] = true
			if ok {
				names[paths[i]] = file
			} else {
				delete(names, paths[i])
			}
			each(i+1, names)
		}
		delete(names, paths[i])
	}
	each(0, map[string]int{})
	return images
}

// What lies in memory is gone, and a volume below it stays.
//
//ci:underway
func TestPowerLossEmptiesMemory(t *testing.T) {
	env, _ := testEnv(t.TempDir())
	s, err := New(env, Config{Root: NoLayer, Volumes: []Volume{{Target: "/tmp/a/b", Layer: NoLayer}}})
	if err != nil {
		t.Fatal(err)
	}
	s.StartJournal(Ext4Ordered)
	for _, path := range []string{"/tmp/f", "/tmp/a/g", "/tmp/a/b/h", "/i"} {
		if e := run(s, env, step{call: "create", a: path}); e != errno.OK {
			t.Fatal(path, e)
		}
	}
	if e := s.PowerLoss(env, 1, func(string, uint64) uint64 { return 0 }); e != errno.OK {
		t.Fatal(e)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	for dir, want := range map[string]string{"/tmp": "a", "/tmp/a": "b", "/tmp/a/b": "h"} {
		if got := names(s, env, dir); got != want {
			t.Errorf("%s has %q, want %q", dir, got, want)
		}
	}
	if _, e := s.Walk(env, s.Root(), "/i", true); e != errno.OK {
		t.Error("/i is gone, although nothing was chosen to be lost")
	}
}

// What a program has written by a map is lost unless it was synchronised.
//
//ci:underway
func TestPowerLossOfMaps(t *testing.T) {
	for _, synced := range []bool{false, true} {
		env, blobs := testEnv(t.TempDir())
		s, err := New(env, Config{Root: NoLayer})
		if err != nil {
			t.Fatal(err)
		}
		s.StartJournal(Ext4Ordered)
		for _, o := range []step{{call: "create", a: "/a"}, {call: "write", a: "/a", n: 8, fill: 'x'}, {call: "sync"}} {
			if e := run(s, env, o); e != errno.OK {
				t.Fatal(o, e)
			}
		}
		p, _ := s.Walk(env, s.Root(), "/a", true)
		c, e := s.Content(env, p.Inode, true)
		if e == errno.OK {
			s.NoteShared(p.Inode)
			e = s.Storable(env, p.Inode)
		}
		if e != errno.OK {
			t.Fatal(e)
		}
		blobs.WriteAt(c.Blob, []byte(strings.Repeat("y", pageBytes)), 0)
		want := "xxxxxxxx"
		if synced {
			if e := s.Sync(env, p.Inode, true); e != errno.OK {
				t.Fatal(e)
			}
			want = "yyyyyyyy"
		}
		if e := s.PowerLoss(env, 1, func(string, uint64) uint64 { return loseAll }); e != errno.OK {
			t.Fatal(e)
		}
		if got := sectors(content(s, env, p.Inode)); got != want {
			t.Errorf("synchronised %v: the disk has %q, want %q", synced, got, want)
		}
	}
}

// msync of some pages leaves the others of the file to be lost, and other files.
//
//ci:underway
func TestPowerLossBesideAnMsync(t *testing.T) {
	env, blobs := testEnv(t.TempDir())
	s, err := New(env, Config{Root: NoLayer})
	if err != nil {
		t.Fatal(err)
	}
	s.StartJournal(Ext4Ordered)
	for _, o := range []step{{call: "create", a: "/a"}, {call: "write", a: "/a", n: 24, fill: 'x'}, {call: "create", a: "/b"},
		{call: "write", a: "/b", n: 8, fill: 'x'}, {call: "sync"},
		{call: "write", a: "/a", at: 16, n: 8, fill: 'z'}} {
		if e := run(s, env, o); e != errno.OK {
			t.Fatal(o, e)
		}
	}
	var ids [2]InodeID
	for i, name := range []string{"/a", "/b"} {
		p, _ := s.Walk(env, s.Root(), name, true)
		c, e := s.Content(env, p.Inode, true)
		if e == errno.OK {
			s.NoteShared(p.Inode)
			e = s.Storable(env, p.Inode)
		}
		if e != errno.OK {
			t.Fatal(e)
		}
		ids[i] = p.Inode
		blobs.WriteAt(c.Blob, []byte(strings.Repeat("y", pageBytes)), 0)
	}
	c, _ := s.Content(env, ids[0], true)
	blobs.WriteAt(c.Blob, []byte(strings.Repeat("y", pageBytes)), pageBytes)
	if e := s.SyncRange(env, ids[0], pageBytes, 2*pageBytes); e != errno.OK {
		t.Fatal(e)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if e := s.PowerLoss(env, 1, func(string, uint64) uint64 { return loseAll }); e != errno.OK {
		t.Fatal(e)
	}
	for i, want := range []string{"xxxxxxxxyyyyyyyyxxxxxxxx", "xxxxxxxx"} {
		if got := sectors(content(s, env, ids[i])); got != want {
			t.Errorf("file %d has %q, want %q", i, got, want)
		}
	}
}

var scripts = [][]step{
	{{"create", "/a", "", 0, 0, 0}, {"write", "/a", "", 0, 2, 'x'}, {"fsync", "/a", "", 0, 0, 0}, {"write", "/a", "", 0, 2, 'y'},
		{"rename", "/a", "/b", 0, 0, 0}, {"create", "/c", "", 0, 0, 0}},
	{{"create", "/a", "", 0, 0, 0}, {"write", "/a", "", 0, 1, 'x'}, {"create", "/t", "", 0, 0, 0}, {"write", "/t", "", 0, 1, 'y'},
		{"rename", "/t", "/a", 0, 0, 0}, {"write", "/a", "", 0, 1, 'z'}},
	{{"create", "/a", "", 0, 0, 0}, {"write", "/a", "", 0, 2, 'x'}, {"sync", "", "", 0, 0, 0}, {"truncate", "/a", "", 0, 0, 0},
		{"write", "/a", "", 0, 1, 'y'}, {"fdatasync", "/a", "", 0, 0, 0}},
	{{"mkdir", "/d", "", 0, 0, 0}, {"create", "/d/f", "", 0, 0, 0}, {"write", "/d/f", "", 0, 1, 'x'}, {"fsync", "/d/f", "", 0, 0, 0},
		{"rename", "/d/f", "/g", 0, 0, 0}, {"unlink", "/g", "", 0, 0, 0}},
	{{"create", "/a", "", 0, 0, 0}, {"write", "/a", "", 0, 20, 'x'}, {"write", "/a", "", 20, 2, 'y'}, {"fdatasync", "/a", "", 0, 0, 0},
		{"write", "/a", "", 1, 1, 'z'}, {"write", "/a", "", 1, 1, 'w'}},
	{{"create", "/a", "", 0, 0, 0}, {"fsync", "/a", "", 0, 0, 0}, {"fsync", "/", "", 0, 0, 0}, {"write", "/a", "", 8, 1, 'x'},
		{"truncate", "/a", "", 0, 4, 0}, {"truncate", "/a", "", 0, 12, 0}},
}

// What a failed fsync should have written is never there after a power loss, until it was written anew and synchronised.
func TestFailedSync(t *testing.T) {
	create, fsync, failing := step{call: "create", a: "/a"}, step{call: "fsync", a: "/a"}, step{call: "failing fsync", a: "/a"}
	write := func(at, n int, fill byte) step { return step{call: "write", a: "/a", at: at, n: n, fill: fill} }
	base := []step{create, write(0, 2, 'x'), {call: "sync"}}
	for _, c := range []struct {
		script []step
		images []string
	}{
		{[]step{write(0, 1, 'y'), failing, fsync, fsync}, []string{"/a xx"}},
		{[]step{write(0, 4, 'y'), failing, fsync}, []string{"/a xx.."}},
		{[]step{write(0, 1, 'y'), failing, write(1, 1, 'z')}, []string{"/a xx", "/a xz", "/a yx", "/a yz"}},
		{[]step{write(0, 1, 'y'), failing, write(1, 1, 'z'), fsync}, []string{"/a yz"}},
		{[]step{write(0, 1, 'y'), failing, write(8, 1, 'z'), fsync}, []string{"/a xx......z"}},
		{[]step{write(0, 1, 'y'), failing, {call: "truncate", a: "/a", n: 1}, fsync}, []string{"/a y"}},
		{[]step{{call: "truncate", a: "/a", n: 0}, write(0, 2, 'y'), failing, fsync}, []string{"/a .."}},
	} {
		for _, p := range []Profile{Ext4Ordered, PosixMinimal} {
			var got []string
			for image := range sampled(t, p, append(slices.Clone(base), c.script...), 1<<16) {
				got = append(got, image)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.images) {
				t.Errorf("profile %d: %v\nleaves %q, want %q", p, c.script, got, c.images)
			}
		}
	}
}

// All images that can be made of a script are legal, and all legal ones can be made.
func TestCrashImages(t *testing.T) {
	for p, name := range map[Profile]string{Ext4Ordered: "ext4-ordered", PosixMinimal: "posix-minimal"} {
		for i, script := range scripts {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) { compareImages(t, p, script, 1<<30) })
		}
		t.Run(name+"/random", func(t *testing.T) {
			compared := 0
			for seed := range uint64(100) {
				if compareImages(t, p, randomScript(seed), 300) {
					compared++
				}
				if t.Failed() {
					return
				}
			}
			if compared < 25 {
				t.Errorf("only %d scripts were small enough", compared)
			}
		})
	}
}

// Stores by maps are as writes: the disk has them or not, sector by sector, in any order, and msync makes pages of
// them durable. What the engine has not looked at between two stores, or between a store and another call, is left
// out, and no illegal image is made.
func TestCrashImagesOfMaps(t *testing.T) {
	base := []step{{call: "create", a: "/a"}, {call: "write", a: "/a", n: 10, fill: 'a'},
		{call: "truncate", a: "/a", n: 24}, {call: "sync"}}
	for p, name := range map[Profile]string{Ext4Ordered: "ext4-ordered", PosixMinimal: "posix-minimal"} {
		compared := 0
		for seed := range uint64(40) {
			if compareImages(t, p, mapScript(seed, base, "store"), 500) {
				compared++
			}
			if script := mapScript(seed, base, "unseen store"); !t.Failed() {
				want := legal(p, script)
				for image := range sampled(t, p, script, 300) {
					if !want[image] {
						t.Errorf("%v\nleft %q, which is not legal", script, image)
					}
				}
			}
			if t.Failed() {
				return
			}
		}
		if compared < 10 {
			t.Errorf("%s: only %d scripts were small enough", name, compared)
		}
	}
}

// mapScript makes some calls and stores behind a base, in which the file /a has three pages, the last of which is a
// hole.
func mapScript(seed uint64, base []step, store string) []step {
	r := rand.New(rand.NewPCG(seed, 2))
	script, size, settled, other := slices.Clone(base), 24, true, false
	for i := 0; len(script) < len(base)+4; i++ {
		page, fill := r.IntN(max(size/pageSectors, 1)), byte('p'+i)
		switch r.IntN(9) {
		case 0, 1, 2:
			if (page+1)*pageSectors <= size {
				script = append(script, step{call: store, a: "/a", at: page*pageSectors + r.IntN(7), n: 1 + r.IntN(2), fill: fill})
			}
		case 3, 4:
			if settled { // else it also says something of the size
				script = append(script, step{call: "msync", a: "/a", at: page * pageSectors, n: pageSectors})
			}
		case 5:
			script = append(script, step{call: "write", a: "/a", at: page * pageSectors, n: 1, fill: fill})
			settled = settled && page*pageSectors < size
			size = max(size, page*pageSectors+1)
		case 6:
			script = append(script, step{call: []string{"fsync", "fdatasync", "sync"}[r.IntN(3)], a: "/a"})
			settled = true
		case 7:
			size = pageSectors * (1 + r.IntN(3))
			script = append(script, step{call: "truncate", a: "/a", n: size})
			settled = false
		case 8:
			if !other {
				script = append(script, step{call: "create", a: "/b"})
				other = true
			} else {
				script = append(script, step{call: "fsync", a: "/b"})
			}
		}
	}
	return script
}

// What an msync failed to write counts as clean, and the rest of the file does not.
func TestFailedMsync(t *testing.T) {
	base := []step{{call: "create", a: "/a"}, {call: "write", a: "/a", n: 16, fill: 'a'}, {call: "sync"}}
	store := func(at int, fill byte) step { return step{call: "store", a: "/a", at: at, n: 1, fill: fill} }
	failing, msync := step{call: "failing msync", a: "/a", n: 8}, step{call: "msync", a: "/a", n: 8}
	fsync, write := step{call: "fsync", a: "/a"}, step{call: "write", a: "/a", at: 1, n: 1, fill: 'z'}
	for _, c := range []struct {
		script []step
		images []string
	}{
		{[]step{store(0, 'x'), store(8, 'y'), failing, fsync}, []string{"/a aaaaaaaayaaaaaaa"}},
		{[]step{store(0, 'x'), store(8, 'y'), failing, msync}, []string{"/a aaaaaaaaaaaaaaaa", "/a aaaaaaaayaaaaaaa"}},
		{[]step{store(0, 'x'), failing, store(1, 'z'), msync}, []string{"/a xzaaaaaaaaaaaaaa"}},
		{[]step{store(0, 'x'), failing, write, msync}, []string{"/a xzaaaaaaaaaaaaaa"}},
	} {
		for _, p := range []Profile{Ext4Ordered, PosixMinimal} {
			got := slices.Sorted(maps.Keys(sampled(t, p, append(slices.Clone(base), c.script...), 1<<16)))
			if !slices.Equal(got, c.images) {
				t.Errorf("profile %d: %v\nleaves %q, want %q", p, c.script, got, c.images)
			}
		}
	}
}

func compareImages(t *testing.T, p Profile, script []step, limit int) bool {
	got := sampled(t, p, script, limit)
	if got == nil {
		return false
	}
	want := legal(p, script)
	for image := range got {
		if !want[image] {
			t.Errorf("%v\nleft %q, which is not legal", script, image)
			return true
		}
	}
	for image := range want {
		if !got[image] {
			t.Errorf("%v\nnever leaves %q", script, image)
			return true
		}
	}
	return true
}

// randomScript makes six calls that can all be made.
func randomScript(seed uint64) []step {
	r := rand.New(rand.NewPCG(seed, 1))
	script := []step{{call: "create", a: "/a"}, {call: "write", a: "/a", n: 1 + r.IntN(2), fill: 'a'}}
	there := []string{"/a"}
	for i := 0; len(script) < 6; i++ {
		a := there[r.IntN(len(there))]
		switch r.IntN(8) {
		case 0:
			if !slices.Contains(there, "/b") {
				script = append(script, step{call: "create", a: "/b"})
				there = append(there, "/b")
			}
		case 1:
			to := []string{"/a", "/b", "/c"}[r.IntN(3)]
			if to == a {
				continue
			}
			script = append(script, step{call: "rename", a: a, b: to})
			there = slices.DeleteFunc(there, func(s string) bool { return s == a || s == to })
			there = append(there, to)
		case 2:
			if len(there) > 1 {
				script = append(script, step{call: "unlink", a: a})
				there = slices.DeleteFunc(there, func(s string) bool { return s == a })
			}
		case 3:
			script = append(script, step{call: "truncate", a: a, n: r.IntN(3)})
		case 4:
			script = append(script, step{call: []string{"fsync", "fdatasync", "sync"}[r.IntN(3)], a: a})
		case 5:
			script = append(script, step{call: "fsync", a: "/"})
		default:
			script = append(script, step{call: "write", a: a, at: r.IntN(2), n: 1, fill: byte('b' + i%20)})
		}
	}
	return script
}
