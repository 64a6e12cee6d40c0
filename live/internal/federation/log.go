package federation

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

// Entry is a statement of a domain to a peer. The domain signs it, the peer receives it, and both can show it later.
// The entries for each peer form a chain: each contains the hash of the one before it, so that none can be removed or
// inserted.
type Entry struct {
	Domain     string   `json:"domain"`
	Peer       string   `json:"peer"`
	Number     uint32   `json:"number"` // of the peer's entries, from 1
	Previous   hexBytes `json:"previous,omitempty"`
	TimeMs     int64    `json:"time_ms"` // since 1970
	Session    hexBytes `json:"session"`
	Said       string   `json:"said"` // a verdict and the neighbours of its handles
	Bits       uint16   `json:"bits"` // that this discloses at most
	Commitment hexBytes `json:"commitment"`
}

// Opening is the subject of an entry, which the domain keeps to itself. Its hash is the entry's commitment.
type Opening struct {
	Salt    hexBytes `json:"salt"`
	From    string   `json:"from"`
	Message hexBytes `json:"message"`
}

type hexBytes []byte

// MarshalText writes hexadecimal digits.
func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h), nil }

// UnmarshalText reads them.
func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.AppendDecode(nil, text)
	return err
}

// Statement is an entry with the domain's signature: what a peer gets, and keeps.
type Statement struct {
	Entry     Entry    `json:"entry"`
	Signature hexBytes `json:"signature"`
}

// line is a line of a log.
type line struct {
	Statement
	Opening Opening `json:"opening"`
}

// signedPrefix keeps what is signed here apart from whatever else a key signs.
const signedPrefix = "bloodhound federation entry 1\n"

func (e *Entry) encode() []byte {
	b := appendText(appendText([]byte(signedPrefix), e.Domain), e.Peer)
	b = be.AppendUint32(b, e.Number)
	b = appendText(b, string(e.Previous))
	b = be.AppendUint64(b, uint64(e.TimeMs))
	b = appendText(b, string(e.Session))
	b = be.AppendUint16(b, e.Bits)
	b = appendText(b, string(e.Commitment))
	return append(b, e.Said...)
}

// parseStatement reads a statement, as an answer has it, and verifies the signature.
func parseStatement(b []byte, key ed25519.PublicKey) (*Statement, error) {
	c := cursor.New(b, 0)
	signature := c.Bytes(ed25519.SignatureSize, "a signature")
	signed := c.Bytes(c.Left(), "an entry")
	c = cursor.New(signed, ed25519.SignatureSize)
	if prefix := c.Bytes(len(signedPrefix), "an entry"); string(prefix) != signedPrefix || !ed25519.Verify(key, signed, signature) {
		return nil, errors.New("the domain did not sign this statement")
	}
	e := Entry{Domain: readText(c), Peer: readText(c), Number: c.Uint32("a number"), Previous: hexBytes(readText(c))}
	e.TimeMs = int64(c.Uint32("a time"))<<32 | int64(c.Uint32("a time"))
	e.Session, e.Bits, e.Commitment = hexBytes(readText(c)), c.Uint16("bits"), hexBytes(readText(c))
	e.Said = string(c.Bytes(c.Left(), "what is said"))
	return &Statement{e, bytes.Clone(signature)}, c.Err()
}

func hash(signed, signature []byte) []byte {
	h := sha256.New()
	h.Write(signed)
	h.Write(signature)
	return h.Sum(nil)
}

func (o *Opening) commitment() []byte {
	h := sha256.New()
	h.Write(appendText(appendText(nil, string(o.Salt)), o.From))
	h.Write(o.Message)
	return h.Sum(nil)
}

// Given counts what a domain has disclosed to a peer since its log began.
type Given struct {
	Entries int
	Bits    int
	last    []byte // hash of the last entry
}

// Log is the record of all that a domain has said. It is written to disk before the peer gets it.
type Log struct {
	id    Identity
	mu    sync.Mutex
	file  *os.File
	given map[string]Given
}

// OpenLog opens the log of a domain, or begins it, and verifies what it has. What was not written to its end when a machine went
// down was not said to anyone, and is removed.
func OpenLog(name string, id Identity) (*Log, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	given, whole, err := audit(f, id.Name, id.Public(), func(*line) error { return nil })
	if err == nil {
		err = f.Truncate(whole)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Log{id: id, file: f, given: given}, nil
}

func (l *Log) Close() error { return l.file.Close() }

// Given returns what the domain has disclosed to a peer.
func (l *Log) Given(peer string) Given {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given[peer]
}

// record writes what is about to be said, and returns it with its signature.
func (l *Log) record(now time.Time, peer string, session token, said string, bits int, from string, message []byte) (statement []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.given[peer]
	salt := make([]byte, 16)
	rand.Read(salt)
	x := line{Opening: Opening{Salt: salt, From: from, Message: message}}
	x.Entry = Entry{Domain: l.id.Name, Peer: peer, Number: uint32(g.Entries) + 1, Previous: g.last, TimeMs: now.UnixMilli(),
		Session: session[:], Said: said, Bits: uint16(bits),
		Commitment: x.Opening.commitment()}
	signed := x.Entry.encode()
	x.Signature = ed25519.Sign(l.id.Key, signed)
	text, err := json.Marshal(&x)
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return nil, err
	}
	l.given[peer] = Given{g.Entries + 1, g.Bits + bits, hash(signed, x.Signature)}
	return append(bytes.Clone(x.Signature), signed...), nil
}

// maxLineBytes is the longest line of a log: messages are no longer than a frame.
const maxLineBytes = 4 * maxFrameBytes

// Audit verifies the log of a domain: signatures, the chain of each peer, that each message is the one that was committed to, and
// that what the domain has signed for someone is there. It returns what each peer has been given.
func Audit(r io.Reader, domain string, key ed25519.PublicKey, received []Statement) (map[string]Given, error) {
	type place struct {
		peer   string
		number uint32
	}
	missing := map[place]Statement{}
	for _, s := range received {
		if s.Entry.Domain != domain {
			continue
		}
		if !ed25519.Verify(key, s.Entry.encode(), s.Signature) {
			return nil, fmt.Errorf("the domain did not sign entry %d for %s", s.Entry.Number, s.Entry.Peer)
		}
		missing[place{s.Entry.Peer, s.Entry.Number}] = s
	}
	given, _, err := audit(r, domain, key, func(x *line) error {
		at := place{x.Entry.Peer, x.Entry.Number}
		if s, ok := missing[at]; ok && !bytes.Equal(s.Signature, x.Signature) {
			return fmt.Errorf("entry %d for %s is another one than the domain has signed before: %q, and not %q", at.number,
				at.peer, x.Entry.Said, s.Entry.Said)
		}
		delete(missing, at)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for at, s := range missing {
		return nil, fmt.Errorf("entry %d for %s is not there, which the domain has signed: %q", at.number, at.peer, s.Entry.Said)
	}
	return given, nil
}

// audit returns also how many bytes the whole lines have. Each has a look at each line.
func audit(r io.Reader, domain string, key ed25519.PublicKey, each func(*line) error) (given map[string]Given, whole int64, err error) {
	given = map[string]Given{}
	whole, err = readLines(r, func(x *line) error {
		if err := x.check(domain, key, given); err != nil {
			return err
		}
		return each(x)
	})
	return given, whole, err
}

// readLines reads the whole lines of JSON in a file, and returns how many bytes they have.
func readLines[T any](r io.Reader, each func(*T) error) (whole int64, err error) {
	in := bufio.NewReaderSize(r, maxLineBytes)
	for n := 1; ; n++ {
		text, err := in.ReadSlice('\n')
		if err == io.EOF {
			return whole, nil
		}
		var x T
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			err = d.Decode(&x)
		}
		if err == nil {
			err = each(&x)
		}
		if err != nil {
			return 0, fmt.Errorf("line %d: %w", n, err)
		}
		whole += int64(len(text))
	}
}

// check verifies a line, and adds it to what the peer has been given.
func (x *line) check(domain string, key ed25519.PublicKey, given map[string]Given) error {
	e := &x.Entry
	g := given[e.Peer]
	signed := e.encode()
	switch {
	case max(len(e.Domain), len(e.Peer), len(e.Previous), len(e.Session), len(e.Commitment)) > maxNameBytes:
		return errors.New("a field is longer than one may be")
	case !ed25519.Verify(key, signed, x.Signature):
		return errors.New("the signature does not match the domain's key")
	case e.Domain != domain:
		return fmt.Errorf("it is of domain %s", e.Domain)
	case int(e.Number) != g.Entries+1 || !bytes.Equal(e.Previous, g.last):
		return fmt.Errorf("entry %d of peer %s does not follow entry %d", e.Number, e.Peer, g.Entries)
	case !bytes.Equal(e.Commitment, x.Opening.commitment()):
		return errors.New("the message is not the one that was committed to")
	}
	given[e.Peer] = Given{g.Entries + 1, g.Bits + int(e.Bits), hash(signed, x.Signature)}
	return nil
}

// Keep appends statements of other domains to a file.
func Keep(name string, list []Statement) error {
	var text []byte
	for _, s := range list {
		b, err := json.Marshal(&s)
		if err != nil {
			return err
		}
		text = append(append(text, b...), '\n')
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Kept reads what Keep has written. There is nothing if there is no file.
func Kept(name string) (list []Statement, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = readLines(f, func(s *Statement) error {
		list = append(list, *s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}
