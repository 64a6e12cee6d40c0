package view

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

func TestPlacesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]Place{
		"0":         {},
		" 812 ":     {Event: 812},
		"1.25s":     {Kind: AtTime, TimeNs: 1_250_000_000},
		"0s":        {Kind: AtTime},
		"300ms":     {Kind: AtTime, TimeNs: 300_000_000},
		"violation": {Kind: AtViolation},
		"fault 2":   {Kind: AtFault, Fault: 2},
		"fault  12": {Kind: AtFault, Fault: 12},
		"fault3":    {Kind: AtFault, Fault: 3},
	} {
		got, err := ParsePlace(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParsePlace(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, which is read as %+v, %v", text, got, again, err)
		}
	}
	for text, says := range map[string]string{
		"": "give an event number", "-1": "give an event number", "1.25": "a virtual time such as 1.25s",
		"-2s": "give an event number", "fault": "from 1 on", "fault 0": "from 1 on",
		"fault x": `"fault 1"`, "Violation": "or the word violation", "18446744073709551616": "give an event number", "99999999999h": "give an event number",
	} {
		if p, err := ParsePlace(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, p, err, says)
		}
	}
}

func TestPlacesOfARun(t *testing.T) {
	v := &check.Verdict{Event: 70, TimeNs: 7}
	l := &fault.Ledger{Injections: []fault.Injection{{ID: 4, Event: 20}, {ID: 9, Event: 50}}}
	for text, want := range map[string]engine.Until{
		"5": {Position: record.PositionAt(5)}, "3ns": {TimeNs: 3}, "violation": {Position: record.PositionAt(70)},
		"fault 1": {Position: record.PositionAt(20)}, "fault 2": {Position: record.PositionAt(50)},
	} {
		p, err := ParsePlace(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, known, err := p.Until(v, l); got != want || !known || err != nil {
			t.Errorf("%s: %+v, %v, %v", text, got, known, err)
		}
	}
	if got, _, err := (Place{Kind: AtViolation}).Until(&check.Verdict{TimeNs: 7}, nil); got != (engine.Until{TimeNs: 7}) || err != nil {
		t.Errorf("a violation without an event: %+v, %v", got, err)
	}
	if _, known, err := (Place{Kind: AtFault, Fault: 1}).Until(v, nil); known || err != nil {
		t.Errorf("a fault of a run that is not known: %v, %v", known, err)
	}
	for says, c := range map[string]struct {
		p Place
		v *check.Verdict
		l *fault.Ledger
	}{
		"this run has 2":                  {Place{Kind: AtFault, Fault: 3}, v, l},
		"has no fault with a beginning":   {Place{Kind: AtFault, Fault: 1}, v, &fault.Ledger{}},
		"no violation: give another poin": {Place{Kind: AtViolation}, nil, l},
	} {
		if _, _, err := c.p.Until(c.v, c.l); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v; want an error with %q", c.p, err, says)
		}
	}
}

// stopped is a world with two processes, one of which has a hostile name.
type stopped struct{ engine.Inspection }

func (stopped) Nodes() ([]engine.Node, error) {
	return []engine.Node{{Name: "n1", Status: "running", Addresses: []string{"10.0.0.1"}}, {Name: "n2", Status: "ended", ExitCode: 3}}, nil
}

func (stopped) Threads() ([]engine.Thread, error) {
	return []engine.Thread{
		{Node: "n1", PID: 7, TID: 7, Name: "n1/0", Program: "/bin/db", Args: []string{"db", "-v\x1b[2J"}, Call: "futex", SinceNs: 1_000_000_000},
		{Node: "n1", PID: 7, TID: 8, Name: "n1/0.1", Program: "/bin/db", Args: []string{"db", "-v\x1b[2J"}},
		{Node: "n2", PID: 7, PPID: 1, TID: 7, Name: "n2/0", Program: "/bin/sh"},
	}, nil
}

func (stopped) Sockets(node string) ([]engine.Socket, error) {
	if node == "n2" {
		return nil, nil
	}
	return []engine.Socket{{Object: "tcp", Local: "0.0.0.0:80", State: "LISTEN"}, {Object: "udp", Local: "10.0.0.1:53", ReceivedBytes: 12}}, nil
}

func TestViewsOfAStoppedWorld(t *testing.T) {
	var b strings.Builder
	processes, err := Processes(stopped{})
	if err != nil || len(processes) != 2 || len(processes[0].Threads) != 2 {
		t.Fatalf("%+v, %v", processes, err)
	}
	sockets, err := Sockets(stopped{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, _ := stopped{}.Nodes()
	WriteProcesses(&b, processes, 1_250_000_000)
	WriteSockets(&b, sockets)
	WriteNodes(&b, nodes)
	WriteOpenFiles(&b, []engine.OpenFile{{FD: 3, Object: "file", Path: "/v/log"}, {FD: 11, Path: "anon_inode:[eventpoll]"}})
	WriteProcesses(&b, nil, 0)
	WriteSockets(&b, nil)
	WriteOpenFiles(&b, nil)
	const want = `NODE  PID  PPID  TID  THREAD  WAITS IN  FOR        COMMAND
n1    7    0     7    n1/0    futex     0.250000s  db -v\x1b[2J
n1    7    0     8    n1/0.1  -         -          db -v\x1b[2J
n2    7    1     7    n2/0    -         -          /bin/sh
NODE  KIND  STATE   NOT READ  NOT ACKED  LOCAL        REMOTE
n1    tcp   LISTEN  0         0          0.0.0.0:80   -
n1    udp   -       12        0          10.0.0.1:53  -
NODE  STATUS              ADDRESSES
n1    running             10.0.0.1
n2    ended, exit code 3  
FD  KIND  PATH
3   file  /v/log
11  -     anon_inode:[eventpoll]
no process runs
there is no socket
no descriptor is open
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestLogUntilAnEvent(t *testing.T) {
	log := []record.LogLine{{Position: record.PositionAt(3), Text: "a"}, {Position: record.PositionAt(5), Text: "b"},
		{Position: record.PositionAt(9), Text: "c"}}
	for event, want := range map[uint64]int{0: 0, 3: 1, 6: 2, 9: 3} {
		if got := LogUntil(log, event); len(got) != want {
			t.Errorf("%d lines until event %d, want %d", len(got), event, want)
		}
	}
}
