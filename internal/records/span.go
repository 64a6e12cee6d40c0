package records

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/url"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// Phases of a worker's effort.
const (
	Search  = "search"  // runs that the strategy chose
	Holdout = "holdout" // runs of random tapes from their boot, which do not depend on anything that was found
	Again   = "again"   // replays of failures and of the corpus
	Shrink  = "shrink"
)

// Span is the effort of a worker from one record of it to the next. There are more spans than all other records, so that their form is a line of
// words "name=number" and not JSON.
type Span struct {
	Seq  uint64 // of the worker, for the test, code and environment
	AtMs int64  // its end
	Ms   int64  // how long it took, in real time
	// Phase is the purpose of the runs.
	Phase string
	// From and To are the states of the corpus before and after: sums of the digests of features.
	From, To State
	Size     uint64 // features in To
	Runs     uint64
	Violated uint64 // runs with a violation that replayed
	Events   uint64
	Lost     uint64 // runs that the machine or the engine failed
	Varying  uint64 // runs that cannot be made again
	// Classes counts the findings of the runs of a holdout, in the order of their names.
	Classes []Class
}

// Class counts the runs of a holdout that showed something of a class which the worker had not seen before.
type Class struct {
	Name string // AnyFeature, the name of a coverage.Domain, or PropertyClass
	// News is how many did, and After how many runs followed the last of them in the span; all of them if none did.
	News, After uint64
}

// AnyFeature is the class of all features.
const AnyFeature = "any"

// PropertyClass is the class of violations of a property.
func PropertyClass(property string) string { return "property:" + property }

// Entry gives what a store takes.
func (s *Span) Entry(test, code, env, worker ID) store.Entry {
	text := fmt.Sprintf("seq=%d at=%d ms=%d phase=%s from=%s to=%s size=%d runs=%d violated=%d events=%d", s.Seq, s.AtMs, s.Ms,
		s.Phase, s.From, s.To, s.Size, s.Runs, s.Violated, s.Events)
	for _, x := range []struct {
		name string
		n    uint64
	}{{"lost", s.Lost}, {"varying", s.Varying}} {
		if x.n > 0 {
			text += fmt.Sprintf(" %s=%d", x.name, x.n)
		}
	}
	for _, c := range s.Classes {
		text += fmt.Sprintf(" new.%s=%d/%d", url.QueryEscape(c.Name), c.News, c.After)
	}
	return store.Entry{Key: key(kindSpan, test, code, env, worker), Value: []byte(text)}
}

// parse reads the form that Entry writes. Words that it does not know are of a later version, and left out.
func (s *Span) parse(text string) error {
	for more := true; more; { // there may be a million spans, so that no iterator is called
		var word string
		word, text, more = strings.Cut(text, " ")
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q is not valid in a span", word)
		}
		var count *uint64
		var err error
		switch name {
		case "seq":
			count = &s.Seq
		case "size":
			count = &s.Size
		case "runs":
			count = &s.Runs
		case "violated":
			count = &s.Violated
		case "events":
			count = &s.Events
		case "lost":
			count = &s.Lost
		case "varying":
			count = &s.Varying
		case "at":
			s.AtMs, err = strconv.ParseInt(value, 10, 64)
		case "ms":
			s.Ms, err = strconv.ParseInt(value, 10, 64)
		case "phase":
			s.Phase = phaseOf(value)
		case "from":
			s.From, err = parseState(value)
		case "to":
			s.To, err = parseState(value)
		default:
			if class, is := strings.CutPrefix(name, "new."); is {
				err = s.class(class, value)
			}
		}
		if count != nil {
			*count, err = strconv.ParseUint(value, 10, 64)
		}
		if err != nil {
			return fmt.Errorf("%q of a span: %w", word, err)
		}
	}
	return nil
}

// class reads a word of a class.
func (s *Span) class(escaped, value string) (err error) {
	news, after, _ := strings.Cut(value, "/")
	c := Class{}
	if c.Name, err = url.QueryUnescape(escaped); err == nil {
		c.News, err = strconv.ParseUint(news, 10, 64)
	}
	if err == nil {
		c.After, err = strconv.ParseUint(after, 10, 64)
	}
	s.Classes = append(s.Classes, c)
	return err
}

// phaseOf gives the constant, so that a million spans do not hold a million words.
func phaseOf(word string) string {
	for _, p := range []string{Search, Holdout, Again, Shrink} {
		if p == word {
			return p
		}
	}
	return strings.Clone(word)
}

// State names what a search has reached: the sum, modulo 2^128, of the digests of the features. So it does not depend on the order in which they
// were found, and workers that have found the same are in the same state.
type State struct{ Hi, Lo uint64 }

// With is the state with one feature more.
func (s State) With(feature uint64) State {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], feature)
	sum := sha256.Sum256(b[:])
	lo, carry := bits.Add64(s.Lo, binary.BigEndian.Uint64(sum[8:16]), 0)
	hi, _ := bits.Add64(s.Hi, binary.BigEndian.Uint64(sum[:8]), carry)
	return State{hi, lo}
}

func (s State) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], s.Hi)
	binary.BigEndian.PutUint64(b[8:], s.Lo)
	return hex.EncodeToString(b[:])
}

func parseState(text string) (s State, err error) {
	if len(text) != 32 {
		return s, fmt.Errorf("a state has 32 hexadecimal digits")
	}
	if s.Hi, err = strconv.ParseUint(text[:16], 16, 64); err == nil {
		s.Lo, err = strconv.ParseUint(text[16:], 16, 64)
	}
	return s, err
}

// FeatureText writes features as Found has them.
func FeatureText(ids []uint64) string {
	b := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		b = fmt.Appendf(b, "%016x", id)
	}
	return string(b)
}

// IDs reads the features of a record; what is no number is left out.
func (f *Found) IDs() []uint64 { return featureIDs(f.Features) }

// IDs reads the features of a record; what is no number is left out.
func (k *Kept) IDs() []uint64 { return featureIDs(k.Features) }

func featureIDs(text string) (list []uint64) {
	for ; len(text) >= 16; text = text[16:] {
		if id, err := strconv.ParseUint(text[:16], 16, 64); err == nil {
			list = append(list, id)
		}
	}
	return list
}
