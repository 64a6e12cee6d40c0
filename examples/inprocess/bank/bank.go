// Package bank is a bank of one server and two tellers, written as sequential processes of package inproc. Its transfers lose money
// when the server crashes at the wrong moment.
package bank

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

const (
	accounts  = 3
	opening   = 100 // of each account
	transfers = 10  // of each teller
)

// transfer asks the bank to move money.
type transfer struct{ From, To, Amount int }

// audit asks the bank for the sum of all accounts.
type audit struct{}

// World describes the bank. A bank that is repaired writes what it is about to do into a journal.
func World(repaired bool) func(*inproc.World) {
	return func(w *inproc.World) {
		w.Process("bank", func(p *inproc.Process) { (&server{p, repaired}).serve() })
		for _, name := range []string{"teller1", "teller2"} {
			w.Client(name, teller)
		}
		w.Faults("crash on bank at fsync rate 1% for 100ms..500ms", "drop rate 1%", "partition rate 1% for 100ms..500ms")
	}
}

// server keeps each account in a file of its own.
type server struct {
	*inproc.Process
	repaired bool
}

func (s *server) serve() {
	s.recover()
	for {
		m := s.Receive()
		switch request := m.Payload.(type) {
		case transfer:
			s.Reply(m, s.transfer(request))
		case audit:
			sum := 0
			for i := range accounts {
				sum += s.balance(i)
			}
			s.Assert(sum == accounts*opening, "the sum of all accounts stays the same")
			s.Reply(m, sum)
		}
	}
}

// recover opens the accounts, and finishes what the journal says was under way.
func (s *server) recover() {
	for i := range accounts {
		if _, err := s.Disk().Read(file(i)); errors.Is(err, inproc.ErrNotExist) {
			s.store(i, opening)
		}
	}
	if journal, err := s.Disk().Read("journal"); err == nil {
		var i, a, j, b int
		if n, _ := fmt.Sscanf(string(journal), "%d=%d %d=%d\n", &i, &a, &j, &b); n == 4 && strings.HasSuffix(string(journal), "\n") {
			s.store(i, a)
			s.store(j, b)
			s.Log("finished what was under way: %s", journal[:len(journal)-1])
		}
	}
}

func (s *server) transfer(t transfer) error {
	from, to := s.balance(t.From), s.balance(t.To)
	if from < t.Amount || t.From == t.To {
		return inproc.ErrFailed
	}
	if s.repaired {
		line := fmt.Sprintf("%d=%d %d=%d\n", t.From, from-t.Amount, t.To, to+t.Amount)
		s.must(s.Disk().WriteFile("journal.new", []byte(line)))
		s.must(s.Disk().Sync("journal.new"))
		s.must(s.Disk().Rename("journal.new", "journal"))
	}
	s.store(t.From, from-t.Amount)
	s.store(t.To, to+t.Amount)
	s.Log("moved %d from %d to %d", t.Amount, t.From, t.To)
	return nil
}

func file(account int) string { return "account" + strconv.Itoa(account) }

func (s *server) balance(account int) int {
	data, err := s.Disk().Read(file(account))
	s.must(err)
	n, err := strconv.Atoi(string(data))
	s.must(err)
	return n
}

// store replaces a balance as a whole: a crash leaves the old one or the new.
func (s *server) store(account, balance int) {
	name := file(account)
	s.must(s.Disk().WriteFile(name+".new", []byte(strconv.Itoa(balance))))
	s.must(s.Disk().Sync(name + ".new"))
	s.must(s.Disk().Rename(name+".new", name))
	s.must(s.Disk().Sync(name))
}

func (s *server) must(err error) {
	if err != nil {
		panic(err)
	}
}

// teller makes transfers, and asks for an audit now and then. A transfer that is not answered is not tried again: it may have been
// made.
func teller(p *inproc.Process) {
	for i := range transfers {
		t := transfer{p.Choose(accounts), p.Choose(accounts), 1 + p.Choose(opening)}
		p.Operation(inproc.Op{Kind: "transfer", Input: fmt.Sprint(t), Node: "bank"}, func() (string, error) {
			answer, err := p.Call("bank", t, 200*time.Millisecond)
			if failed, ok := answer.(error); ok {
				return "", failed
			}
			return "", err
		})
		p.Sleep(50 * time.Millisecond)
		if i%2 == 1 {
			p.Operation(inproc.Op{Kind: "audit", Node: "bank"}, func() (string, error) {
				sum, err := p.Call("bank", audit{}, 200*time.Millisecond)
				return fmt.Sprint(sum), err
			})
		}
	}
}
