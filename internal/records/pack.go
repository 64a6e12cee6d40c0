package records

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// A pack is an entry that has many spans of one worker, test, code and environment, in some 15 bytes each. All that they say is
// in it, and a View counts each span once by its number, in whatever entries it comes: so packs and single spans may be merged in
// any order.
//
// The spans of a pack have numbers of one block. Of two packs of a block, one may be dropped if the other one has all its spans and more; so one of those that
// have the most is always left, whoever drops them at the same time. A single span may be dropped if a pack has it.

// packMagic begins the value of a pack; single spans begin with a word.
const packMagic = "\x01spans\n"

// packSpans is how many numbers a block has, and maxPackClasses how many classes a span that is packed has at most.
const (
	packSpans      = 4096
	maxPackClasses = 1024
)

// Flags of a span in a pack: what need not be written.
const (
	packNext    = 1 << iota // its number follows that of the span before
	packSameAt              // as the span before
	packFromTo              // its From is the To of the span before
	packStays               // its To is its From
	packSize                // as the span before
	packPlain               // no run was violated, lost or varied
	packClasses             // the classes are those of the last span that had some
	packQuiet               // no class has shown anything new in any of the runs
)

// pack writes spans, in the order of their numbers.
func pack(spans []Span) []byte {
	b := []byte(packMagic)
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	signed := func(n int64) { b = binary.AppendVarint(b, n) }
	text := func(s string) { number(uint64(len(s))); b = append(b, s...) }
	number(uint64(len(spans)))
	var before Span
	var names []string
	for i := range spans {
		s := &spans[i]
		flags := byte(0)
		set := func(flag byte, is bool) {
			if is {
				flags |= flag
			}
		}
		own := make([]string, len(s.Classes))
		quiet := true
		for k, c := range s.Classes {
			own[k] = c.Name
			quiet = quiet && c.News == 0 && c.After == s.Runs
		}
		set(packNext, i > 0 && s.Seq == before.Seq+1)
		set(packSameAt, s.AtMs == before.AtMs)
		set(packFromTo, s.From == before.To)
		set(packStays, s.To == s.From)
		set(packSize, s.Size == before.Size)
		set(packPlain, s.Violated == 0 && s.Lost == 0 && s.Varying == 0)
		set(packClasses, slices.Equal(own, names) || len(own) == 0)
		set(packQuiet, quiet)
		b = append(b, flags)
		text(s.Phase)
		if flags&packNext == 0 {
			number(s.Seq)
		}
		if flags&packSameAt == 0 {
			signed(s.AtMs - before.AtMs)
		}
		signed(s.Ms)
		if flags&packFromTo == 0 {
			b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, s.From.Hi), s.From.Lo)
		}
		if flags&packStays == 0 {
			b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, s.To.Hi), s.To.Lo)
		}
		if flags&packSize == 0 {
			number(s.Size)
		}
		number(s.Runs)
		number(s.Events)
		if flags&packPlain == 0 {
			number(s.Violated)
			number(s.Lost)
			number(s.Varying)
		}
		number(uint64(len(own)))
		if flags&packClasses == 0 {
			for _, name := range own {
				text(name)
			}
		}
		if flags&packQuiet == 0 {
			for _, c := range s.Classes {
				number(c.News)
				number(c.After)
			}
		}
		if before = *s; len(own) > 0 {
			names = own
		}
	}
	return b
}

// unpacker reads what pack wrote.
type unpacker struct {
	left []byte
	err  error
}

var errPack = errors.New("a pack of spans is truncated or invalid")

func (u *unpacker) bytes(n uint64) []byte {
	if n > uint64(len(u.left)) {
		u.err, u.left = errPack, nil
		return nil
	}
	b := u.left[:n]
	u.left = u.left[n:]
	return b
}

func (u *unpacker) byte() byte {
	if b := u.bytes(1); u.err == nil {
		return b[0]
	}
	return 0
}

func (u *unpacker) number() uint64 {
	n, size := binary.Uvarint(u.left)
	if size <= 0 {
		u.err, u.left = errPack, nil
		return 0
	}
	u.left = u.left[size:]
	return n
}

func (u *unpacker) signed() int64 {
	n, size := binary.Varint(u.left)
	if size <= 0 {
		u.err, u.left = errPack, nil
		return 0
	}
	u.left = u.left[size:]
	return n
}

func (u *unpacker) text() string { return string(u.bytes(u.number())) }

func (u *unpacker) state() (s State) {
	if b := u.bytes(16); u.err == nil {
		s.Hi, s.Lo = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	}
	return s
}

// unpack calls f with each span of a pack, unless it is damaged.
func unpack(value []byte, f func(*Span)) error {
	list := make([]Span, 0, 64)
	u := &unpacker{left: bytes.TrimPrefix(value, []byte(packMagic))}
	n := u.number()
	if n > packSpans {
		return fmt.Errorf("%w: it has %d spans", errPack, n)
	}
	var before Span
	var names []string
	for range n {
		var s Span
		flags := u.byte()
		s.Phase = phaseOf(string(u.bytes(u.number())))
		if s.Seq = before.Seq + 1; flags&packNext == 0 {
			s.Seq = u.number()
		}
		if s.AtMs = before.AtMs; flags&packSameAt == 0 {
			s.AtMs += u.signed()
		}
		s.Ms = u.signed()
		if s.From = before.To; flags&packFromTo == 0 {
			s.From = u.state()
		}
		if s.To = s.From; flags&packStays == 0 {
			s.To = u.state()
		}
		if s.Size = before.Size; flags&packSize == 0 {
			s.Size = u.number()
		}
		s.Runs, s.Events = u.number(), u.number()
		if flags&packPlain == 0 {
			s.Violated, s.Lost, s.Varying = u.number(), u.number(), u.number()
		}
		classes := u.number()
		if classes > maxPackClasses || flags&packClasses != 0 && classes > 0 && classes != uint64(len(names)) {
			return errPack
		}
		if flags&packClasses == 0 {
			names = nil
			for range classes {
				names = append(names, u.text())
			}
		}
		for k := range classes {
			if u.err != nil {
				return u.err
			}
			c := Class{Name: names[k], After: s.Runs}
			if flags&packQuiet == 0 {
				c.News, c.After = u.number(), u.number()
			}
			s.Classes = append(s.Classes, c)
		}
		if u.err != nil {
			return u.err
		}
		list = append(list, s)
		before = s
	}
	if u.err != nil || len(u.left) > 0 {
		return errPack
	}
	for i := range list {
		f(&list[i])
	}
	return nil
}

// isPack reports whether the value of a span's entry is a pack.
func isPack(value []byte) bool { return bytes.HasPrefix(value, []byte(packMagic)) }

// SpanPrefix is the prefix of all spans.
const SpanPrefix = kindSpan + "/"

// Packer finds which spans of a database to pack: those that ended before a time.
type Packer struct {
	BeforeMs int64
	Singles  int // single spans that were taken

	blocks map[blockOf]*packBlock
}

// blockOf names a block: the key of its spans, and which numbers they have.
type blockOf struct {
	key string
	n   uint64
}

// packBlock holds the entries of a block.
type packBlock struct {
	spans   map[uint64]Span
	singles []store.Entry
	packs   []store.Entry
}

// AddEntry adds an entry under SpanPrefix. An entry that cannot be read stays as it is.
func (p *Packer) AddEntry(e store.Entry) {
	if _, ok := ids(strings.TrimPrefix(e.Key, SpanPrefix), parts[kindSpan]); !ok {
		return
	}
	if !isPack(e.Value) {
		var s Span
		if s.parse(string(e.Value)) == nil && s.AtMs < p.BeforeMs && len(s.Classes) <= maxPackClasses {
			b := p.block(e.Key, s.Seq)
			b.singles = append(b.singles, e)
			b.add(&s)
			p.Singles++
		}
		return
	}
	var b *packBlock
	mixed := false
	if unpack(e.Value, func(s *Span) {
		switch of := p.block(e.Key, s.Seq); {
		case b == nil:
			b = of
		case b != of:
			mixed = true
		}
	}) != nil || b == nil || mixed {
		return // of another version
	}
	b.packs = append(b.packs, e)
	unpack(e.Value, b.add)
}

func (p *Packer) block(key string, seq uint64) *packBlock {
	if p.blocks == nil {
		p.blocks = map[blockOf]*packBlock{}
	}
	of := blockOf{key, seq / packSpans}
	b := p.blocks[of]
	if b == nil {
		b = &packBlock{spans: map[uint64]Span{}}
		p.blocks[of] = b
	}
	return b
}

// add takes in a span. Of two that differ and have the same number, which no worker writes, one is left, whatever the order.
func (b *packBlock) add(s *Span) {
	if had, is := b.spans[s.Seq]; is && compareJSON(&had, s) <= 0 {
		return
	}
	b.spans[s.Seq] = *s
}

// Packs gives the packs to add, and which entries to drop when they are in the database.
func (p *Packer) Packs() (add []store.Entry, drop map[store.Identity]bool) {
	drop = map[store.Identity]bool{}
	for _, of := range slices.SortedFunc(maps.Keys(p.blocks), func(a, b blockOf) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.n, b.n))
	}) {
		b := p.blocks[of]
		if len(b.singles) == 0 && len(b.packs) <= 1 {
			continue
		}
		spans := slices.SortedFunc(maps.Values(b.spans), func(x, y Span) int { return cmp.Compare(x.Seq, y.Seq) })
		e := store.Entry{Key: of.key, Value: pack(spans)}
		if len(e.Value) > store.MaxValueBytes {
			continue
		}
		own := e.Identity()
		there := false
		for _, had := range b.packs {
			there = there || had.Identity() == own
			n := 0
			unpack(had.Value, func(*Span) { n++ })
			if n < len(spans) {
				drop[had.Identity()] = true
			}
		}
		for _, had := range b.singles {
			drop[had.Identity()] = true
		}
		if !there {
			add = append(add, e)
		}
	}
	return add, drop
}
