package linear

// configMap is a map of configurations to numbers that is emptied often.
type configMap struct {
	slots []configSlot // a power of two of them
	round uint32
	count int
}

type configSlot struct {
	config
	value int32
	round uint32 // in which it was filled
}

func (s *configMap) reset() {
	if s.round++; s.round == 0 {
		clear(s.slots)
		s.round = 1
	}
	s.count = 0
}

// findOrAdd returns the value of a configuration and true if the map has it, or else adds it with the value given.
func (s *configMap) findOrAdd(c config, value int32) (int32, bool) {
	if 2*s.count >= len(s.slots) {
		s.grow()
	}
	at := s.find(c)
	if at.round == s.round {
		return at.value, true
	}
	*at = configSlot{c, value, s.round}
	s.count++
	return value, false
}

// find is the slot that holds c, or the free one where it belongs.
func (s *configMap) find(c config) *configSlot {
	const odd, golden = 0xff51afd7ed558ccd, 0x9e3779b97f4a7c15
	h := (c.done ^ c.done>>29) * odd
	h = (h ^ h>>32 ^ uint64(uint32(c.state))) * golden
	mask := len(s.slots) - 1
	i := int(h>>33) & mask
	for s.slots[i].round == s.round && s.slots[i].config != c {
		i = (i + 1) & mask
	}
	return &s.slots[i]
}

func (s *configMap) grow() {
	old := s.slots
	s.slots = make([]configSlot, 2*len(old))
	for _, slot := range old {
		if slot.round == s.round {
			*s.find(slot.config) = slot
		}
	}
}
