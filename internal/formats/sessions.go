package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

// bincodeFile is the name of the file that DBCop stores in a folder.
const bincodeFile = "history.bincode"

// readBincode reads the folder of a history of DBCop.
func readBincode(folder fs.FS) (events []history.Event, err error) {
	f, err := folder.Open(bincodeFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = inSessions((*sessions).bincode, true)(f, nil, func(e *history.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, err
}

// readCobra reads the logs of a folder as Cobra's clients write them, one session each.
func readCobra(folder fs.FS) ([]history.Event, error) {
	names, err := fs.Glob(folder, "*.log")
	if err != nil {
		return nil, err
	}
	s := &sessions{at: map[string]int{}}
	for _, name := range names {
		f, err := folder.Open(name)
		if err != nil {
			return nil, err
		}
		err = s.cobra(bufio.NewReader(f), strings.TrimSuffix(name, ".log"))
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s.events(false)
}

// access of a transaction. A read that found nothing has no value.
type access struct {
	write      bool
	key, value string
}

type transaction struct {
	fate     history.Type
	accesses []access
}

// sessions are lists of transactions by session.
type sessions struct {
	names []string
	lists [][]transaction
	at    map[string]int
	count int
}

// addTransaction adds a transaction to a session and returns it. It may be filled until the next one begins.
func (s *sessions) addTransaction(session string, fate history.Type) (*transaction, error) {
	i, known := s.at[session]
	if !known {
		i = len(s.names)
		s.at[session] = i
		s.names, s.lists = append(s.names, session), append(s.lists, nil)
	}
	if s.count++; 2*s.count > history.MaxEvents {
		return nil, fmt.Errorf("the history has more than %d transactions, the limit", history.MaxEvents/2)
	}
	s.lists[i] = append(s.lists[i], transaction{fate: fate})
	return &s.lists[i][len(s.lists[i])-1], nil
}

const initial = "0" // what a key holds at first in the formats that give it by a value

// events are the transactions of all sessions, a round of one of each after the other.
func (s *sessions) events(zero bool) ([]history.Event, error) {
	if s.count == 0 {
		return nil, errors.New("the history has no transactions")
	}
	written := map[string]bool{} // keys to which initial was written
	if zero {
		for _, list := range s.lists {
			for _, t := range list {
				for _, a := range t.accesses {
					if a.write && a.value == initial {
						written[a.key] = true
					}
				}
			}
		}
	}
	events := make([]history.Event, 0, 2*s.count)
	var b []byte
	for round := 0; len(events) < 2*s.count; round++ {
		for i, list := range s.lists {
			if round >= len(list) {
				continue
			}
			t := &list[round]
			b = append(b[:0], '[')
			for k, a := range t.accesses {
				if k > 0 {
					b = append(b, ',')
				}
				kind := `["r",`
				if a.write {
					kind = `["w",`
				}
				b = append(b, kind...)
				if isInteger(a.key) {
					b = append(b, a.key...)
				} else {
					b = strconv.AppendQuote(b, a.key) // keys are digits, letters and underscores
				}
				b = append(b, ',')
				if a.value == "" || zero && !a.write && a.value == initial && !written[a.key] {
					b = append(b, "null"...)
				} else {
					b = append(b, a.value...)
				}
				b = append(b, ']')
			}
			b = append(b, ']')
			text, n := string(b), uint64(len(events)+1)
			call := history.Event{Number: n, Client: s.names[i], Type: history.Invoke, Op: "txn"}
			end := history.Event{Number: n + 1, Client: s.names[i], Type: t.fate, Op: "txn"}
			if t.fate == history.Ok {
				end.Output = text
			} else {
				call.Input = text
			}
			events = append(events, call, end)
		}
	}
	return events, nil
}

// number is a number without sign in its shortest spelling.
func number(text string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%s is not a 64-bit number", excerpt([]byte(text)))
	}
	return strconv.FormatUint(n, 10), nil
}

// eachLine gives lines with their numbers, without white space around them.
func eachLine(r io.Reader, do func(line string) error) error {
	b := bufio.NewScanner(r)
	b.Buffer(make([]byte, 0, 64<<10), history.MaxRecordBytes)
	n := 0
	for b.Scan() {
		n++
		if err := do(strings.TrimSpace(b.Text())); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := b.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

const aborted = "-1" // the transaction of writes that were aborted

func (s *sessions) plume(r *bufio.Reader) error {
	owner, last := map[string]string{}, map[string]string{} // session by transaction, and the last transaction by session
	begun := map[string]*transaction{}                      // by session
	return eachLine(r, func(line string) error {
		if line == "" {
			return nil
		}
		body, ok := strings.CutSuffix(line[1:], ")")
		parts := strings.Split(strings.TrimPrefix(body, "("), ",")
		if !ok || line[0] != 'r' && line[0] != 'w' || !strings.HasPrefix(body, "(") || len(parts) != 4 {
			return fmt.Errorf("%s is not r(key,value,session,transaction) or w(...)", excerpt([]byte(line)))
		}
		for i, text := range parts {
			if i == 3 && text == aborted {
				continue
			}
			n, err := number(text)
			if err != nil {
				return err
			}
			parts[i] = n
		}
		a := access{line[0] == 'w', parts[0], parts[1]}
		session, txn := "session "+parts[2], parts[3]
		if txn == aborted {
			if !a.write {
				return nil
			}
			t, err := s.addTransaction(fmt.Sprintf("aborted write %d", s.count+1), history.Fail)
			if err == nil {
				t.accesses = append(t.accesses, a)
			}
			return err
		}
		if was, known := owner[txn]; known && was != session {
			return fmt.Errorf("transaction %s is in two sessions, %s and %s", txn, was, session)
		} else if known && last[session] != txn {
			return fmt.Errorf("transaction %s continues after transaction %s of the same session", txn, last[session])
		} else if !known {
			t, err := s.addTransaction(session, history.Ok)
			if err != nil {
				return err
			}
			owner[txn], last[session], begun[session] = session, txn, t
		}
		begun[session].accesses = append(begun[session].accesses, a)
		return nil
	})
}

func (s *sessions) awdit(r *bufio.Reader) error {
	session := 1
	var t *transaction
	return eachLine(r, func(line string) error {
		switch {
		case line == "":
			return nil
		case strings.Trim(line, "=") == "":
			session++
			t = nil
			return nil
		case strings.Trim(line, "-") == "":
			t = nil
			return nil
		}
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "r" && words[0] != "w" {
			return fmt.Errorf(`%s is not "r key value" or "w key value"`, excerpt([]byte(line)))
		}
		key, err := number(words[1])
		value, err2 := number(words[2])
		if err = cmp.Or(err, err2); err != nil {
			return err
		}
		if t == nil {
			if t, err = s.addTransaction(fmt.Sprintf("session %d", session), history.Ok); err != nil {
				return err
			}
		}
		t.accesses = append(t.accesses, access{words[0] == "w", key, value})
		return nil
	})
}

var (
	dbcopTxn    = regexp.MustCompile(`^\[([^\[\]]*)\][ \t]*(!?)[ \t]*`)
	dbcopAccess = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*(:=|==)[ \t]*([0-9]+|\?)(?:[ \t]+|$)`)
)

func (s *sessions) dbcop(r *bufio.Reader) error {
	session := 1
	return eachLine(r, func(line string) error {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if line != "" && strings.Trim(line, "-") == "" {
			session++
			return nil
		}
		for line != "" {
			m := dbcopTxn.FindStringSubmatch(line)
			if m == nil {
				return fmt.Errorf("%s is not a transaction such as [x:=1 y==2]", excerpt([]byte(line)))
			}
			line = line[len(m[0]):]
			fate := history.Ok
			if m[2] != "" {
				fate = history.Fail
			}
			t, err := s.addTransaction(fmt.Sprintf("session %d", session), fate)
			if err != nil {
				return err
			}
			for rest := strings.TrimSpace(m[1]); rest != ""; {
				e := dbcopAccess.FindStringSubmatch(rest)
				if e == nil || e[2] == ":=" && e[3] == "?" {
					return fmt.Errorf("%s is not an access: x:=1 writes, x==1 and x==? read", excerpt([]byte(rest)))
				}
				rest = rest[len(e[0]):]
				a := access{write: e[2] == ":=", key: e[1]}
				if e[3] != "?" {
					if a.value, err = number(e[3]); err != nil {
						return err
					}
				}
				t.accesses = append(t.accesses, a)
			}
		}
		return nil
	})
}

type dbcopEvent struct {
	Read, Write *struct {
		Variable json.RawMessage `json:"variable"`
		Version  json.RawMessage `json:"version"`
	}
}

type dbcopTransaction struct {
	Events    *[]dbcopEvent `json:"events"`
	Committed *bool         `json:"committed"`
}

func (s *sessions) dbcopJSON(r *bufio.Reader) error {
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var list [][]dbcopTransaction
	var into any = &list
	var wrapped struct {
		Data *[][]dbcopTransaction `json:"data"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(all), []byte("{")) {
		into = &wrapped
	}
	if err := strictjson.Decode(all, into); err != nil {
		return fmt.Errorf("not a DBCop history: %w", err)
	}
	if wrapped.Data != nil {
		list = *wrapped.Data
	}
	for i, session := range list {
		for k, txn := range session {
			where := func(format string, args ...any) error {
				return fmt.Errorf("session %d, transaction %d: "+format, append([]any{i + 1, k + 1}, args...)...)
			}
			if txn.Events == nil || txn.Committed == nil {
				return where(`"events" and "committed" are required`)
			}
			fate := history.Ok
			if !*txn.Committed {
				fate = history.Fail
			}
			t, err := s.addTransaction(fmt.Sprintf("session %d", i+1), fate)
			if err != nil {
				return err
			}
			for _, e := range *txn.Events {
				a, body := access{write: e.Write != nil}, cmp.Or(e.Write, e.Read)
				if e.Write != nil && e.Read != nil || body == nil {
					return where(`an event must be {"Read": ...} or {"Write": ...}`)
				}
				if a.key, err = number(string(body.Variable)); err != nil {
					return where("variable: %w", err)
				}
				if v := string(body.Version); a.write || v != "null" {
					if a.value, err = number(v); err != nil {
						return where("version: %w", err)
					}
				}
				t.accesses = append(t.accesses, a)
			}
		}
	}
	return nil
}

// numbers reads binary numbers and counts what it has read.
type numbers struct {
	r     *bufio.Reader
	order binary.ByteOrder
	at    int64
	err   error
}

func (n *numbers) fail(format string, args ...any) {
	if n.err == nil {
		n.err = fmt.Errorf("byte %d: "+format, append([]any{n.at}, args...)...)
	}
}

func (n *numbers) byte() byte {
	c, err := n.r.ReadByte()
	if err != nil {
		n.fail("the file ends in the middle of the history")
	}
	n.at++
	return c
}

func (n *numbers) word() uint64 {
	var b [8]byte
	if _, err := io.ReadFull(n.r, b[:]); err != nil {
		n.fail("the file ends in the middle of the history")
	}
	n.at += 8
	return n.order.Uint64(b[:])
}

func (n *numbers) bool() bool {
	c := n.byte()
	if c > 1 {
		n.fail("%d is neither true nor false", c)
	}
	return c == 1
}

func (n *numbers) ended() bool {
	_, err := n.r.Peek(1)
	return err != nil
}

// count is a length that is not longer than a history may be.
func (n *numbers) count() uint64 {
	c := n.word()
	if c > history.MaxEvents*64 {
		n.fail("invalid length %d", c)
	}
	return c
}

// bincode reads id, nodes, variables, transactions and events, three texts, and then sessions of transactions of accesses.
// What an access did not achieve is left out; a transaction that did not is aborted.
func (s *sessions) bincode(r *bufio.Reader) error {
	n := &numbers{r: r, order: binary.LittleEndian}
	for range 5 {
		n.word()
	}
	for range 3 {
		length := n.count()
		skipped, _ := r.Discard(int(length))
		if n.at += int64(skipped); uint64(skipped) < length {
			n.fail("the file ends in a text")
		}
	}
	for i, all := uint64(0), n.count(); i < all && n.err == nil; i++ {
		for k, txns := uint64(0), n.count(); k < txns && n.err == nil; k++ {
			t, err := s.addTransaction(fmt.Sprintf("session %d", i+1), history.Ok)
			if err != nil {
				return err
			}
			for e, accesses := uint64(0), n.count(); e < accesses && n.err == nil; e++ {
				a := access{write: n.bool(), key: strconv.FormatUint(n.word(), 10), value: strconv.FormatUint(n.word(), 10)}
				if n.bool() {
					t.accesses = append(t.accesses, a)
				}
			}
			if !n.bool() {
				t.fate = history.Fail
			}
		}
	}
	if n.err == nil && !n.ended() {
		n.fail("the file has more data after the end of the history")
	}
	return n.err
}

// Marks of Cobra's logs for what was there before its clients began, and for what its collector of garbage asks.
const (
	cobraInitial  = 0xbebeebee
	cobraNothing  = 0xdeadbeef
	cobraCollect  = 0x23332333
	cobraCollect2 = 0x66666666
)

func (s *sessions) cobra(r *bufio.Reader, session string) error {
	n := &numbers{r: r, order: binary.BigEndian}
	var t *transaction
	var id uint64
	for !n.ended() && n.err == nil {
		kind := n.byte()
		if kind != 'S' && t == nil {
			n.fail("%q outside a transaction", kind)
			break
		}
		switch kind {
		case 'S':
			if t != nil {
				n.fail("a transaction begins inside another")
				break
			}
			id = n.word()
			var err error
			if t, err = s.addTransaction(session, history.Ok); err != nil {
				return err
			}
		case 'C', 'A':
			if got := n.word(); got != id {
				n.fail("transaction %d ends inside transaction %d", got, id)
			}
			if kind == 'A' {
				t.fate = history.Fail
			}
			t = nil
		case 'W':
			value, key := n.word(), n.word()
			n.word() // a digest of the value
			t.accesses = append(t.accesses, access{true, strconv.FormatUint(key, 10), strconv.FormatUint(value, 10)})
		case 'R':
			n.word() // the transaction that wrote it
			value, key := n.word(), n.word()
			n.word()
			a := access{key: strconv.FormatUint(key, 10)}
			if value == cobraCollect || value == cobraCollect2 {
				n.fail("a read by the garbage collector, not by a client")
			}
			if value != cobraInitial && value != cobraNothing {
				a.value = strconv.FormatUint(value, 10)
			}
			t.accesses = append(t.accesses, a)
		default:
			n.fail("%q is not a record type; the types are S, C, A, W and R", kind)
		}
	}
	if n.err == nil && t != nil {
		n.fail("transaction %d is not finished", id)
	}
	return n.err
}
