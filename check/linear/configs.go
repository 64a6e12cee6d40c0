package linear

// configSet is a set of configurations that is emptied often.
type configSet struct {
	slots []config
	used  []uint32 // the round in which a slot was filled
	round uint32
	count int
}

const firstSlots = 64 // a power of two

func (s *configSet) reset() {
	if s.slots == nil {
		s.slots, s.used = make([]config, firstSlots), make([]uint32, firstSlots)
	}
	if s.round++; s.round == 0 {
		clear(s.used)
		s.round = 1
	}
	s.count = 0
}

// add tells whether the configuration was not there before.
func (s *configSet) add(c config) bool {
	if 2*s.count >= len(s.slots) {
		s.grow()
	}
	i := s.find(c)
	if s.used[i] == s.round {
		return false
	}
	s.slots[i], s.used[i] = c, s.round
	s.count++
	return true
}

// find is the slot that holds c, or the free one where it belongs.
func (s *configSet) find(c config) int {
	const odd, golden = 0xff51afd7ed558ccd, 0x9e3779b97f4a7c15
	h := (c.done ^ c.done>>29) * odd
	h = (h ^ h>>32 ^ uint64(uint32(c.state))) * golden
	mask := len(s.slots) - 1
	i := int(h>>33) & mask
	for s.used[i] == s.round && s.slots[i] != c {
		i = (i + 1) & mask
	}
	return i
}

func (s *configSet) grow() {
	old := *s
	s.slots, s.used = make([]config, 2*len(old.slots)), make([]uint32, 2*len(old.slots))
	for i, c := range old.slots {
		if old.used[i] == old.round {
			k := s.find(c)
			s.slots[k], s.used[k] = c, s.round
		}
	}
}
