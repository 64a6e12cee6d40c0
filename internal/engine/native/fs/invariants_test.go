package fs

import (
	"errors"
	"fmt"
)

// Check verifies the invariants of a State; tests call it after each step.
func (s *State) Check() error {
	var bad []error
	fail := func(format string, args ...any) { bad = append(bad, fmt.Errorf(format, args...)) }
	links := map[InodeID]int{}
	watches := 0
	used, memfds, mounted := int64(0), int64(0), map[int]int64{}
	for id, in := range s.Inodes {
		if in.ID != id {
			fail("inode %d has number %d", id, in.ID)
		}
		if s.lookupInode(in.Parent) == nil {
			fail("inode %d (%s): no parent %d", id, in.Name, in.Parent)
		}
		for name, child := range in.Entries {
			if child == 0 {
				if in.Layer == NoLayer || in.Loaded {
					fail("inode %d: whiteout %q that hides nothing", id, name)
				}
				continue
			}
			if InShared(child) && s.lookupInode(child) != nil {
				continue
			}
			if s.Inodes[child] == nil {
				fail("inode %d: %q leads to no inode", id, name)
				continue
			}
			if c := s.Inodes[child]; c.isDir() && (c.Parent != id || c.Name != name) {
				fail("directory %d is %q in %d but thinks %q in %d", child, name, id, c.Name, c.Parent)
			}
			links[child]++
		}
		if len(in.Entries) > 0 && !in.isDir() {
			fail("inode %d has entries", id)
		}
		used += in.pages() * pageBytes
		if in.Memory {
			memfds += in.pages() * pageBytes
		} else {
			mounted[in.Mount] += in.pages() * pageBytes
		}
		for i, x := range in.Extents {
			if x.From >= x.To || i > 0 && in.Extents[i-1].To >= x.From {
				fail("inode %d: extents %v", id, in.Extents)
				break
			}
		}
		if in.Blob != 0 && (in.Layer != NoLayer || !in.is(S_IFREG)) {
			fail("inode %d has a blob and a layer", id)
		}
		if in.Blob == 0 && in.Layer == NoLayer && in.is(S_IFREG) && in.Size != 0 {
			fail("inode %d has a size and no content", id)
		}
		if in.Refs < 0 || in.Held < 0 || in.Nlink == 0 && in.Unseen == 0 && in.Refs == 0 && in.Held == 0 {
			fail("inode %d: links %d, references %d, held %d", id, in.Nlink, in.Refs, in.Held)
		}
		watches += len(in.Watches)
		for _, w := range in.Watches {
			if n := s.Instances[w.Instance]; n == nil {
				fail("inode %d: the instance of a watch does not exist", id)
			} else if i, ok := n.watch(w.WD); !ok || n.Watches[i].Inode != id {
				fail("inode %d: watch %d is not its own", id, w.WD)
			}
		}
	}
	for _, mounts := range s.Over {
		for _, id := range mounts {
			links[id]++
		}
	}
	for id, in := range s.Inodes {
		if in.Synth == "" && id != rootInode && links[id] != in.Nlink {
			fail("inode %d (%s): %d links, %d names", id, in.Name, in.Nlink, links[id])
		}
	}
	for _, n := range s.Instances {
		watches -= len(n.Watches)
	}
	if watches != 0 {
		fail("watches and watchers differ")
	}
	if used != s.UsedBytes || used > s.Config.QuotaBytes {
		fail("%d bytes are allocated, %d counted", used, s.UsedBytes)
	}
	if memfds != s.MemfdBytes {
		fail("%d bytes are in memfds, %d counted", memfds, s.MemfdBytes)
	}
	for i := range s.Mounts {
		if m := &s.Mounts[i]; mounted[i] != m.UsedBytes {
			fail("%d bytes are allocated on %s, %d counted", mounted[i], m.Target, m.UsedBytes)
		}
	}
	for path, id := range s.Synths {
		if in := s.Inodes[id]; in == nil || in.Synth != path {
			fail("no inode for %s", path)
		}
	}
	return errors.Join(bad...)
}
