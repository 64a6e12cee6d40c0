package rsp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// stream connects a debugger: the Reader is its output, the Buffer its input.
type stream struct {
	io.Reader
	bytes.Buffer
}

func (s *stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }

// What one side sends the other receives, whatever bytes it has.
func TestPackets(t *testing.T) {
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	for _, text := range []string{"", "g", "OK", "m0,4", "#$}*", all.String(), strings.Repeat("}", 1000)} {
		var wire stream
		if err := NewConn(&wire).Send(text); err != nil {
			t.Fatal(err)
		}
		back := &stream{Reader: strings.NewReader(wire.String())}
		got, err := NewConn(back).Receive()
		if err != nil || got != text {
			t.Errorf("%q is received as %q, %v", text, got, err)
		}
		if back.String() != "+" {
			t.Errorf("it is acknowledged with %q", back.String())
		}
	}
}

// A packet with a wrong sum is asked for again, some garbage is skipped, and much of it ends the connection.
func TestBadPackets(t *testing.T) {
	for _, c := range []struct {
		sent, got, answers string
		err                error
	}{
		{"$g#00$g#67", "g", "-+", nil},
		{"+-xyz$g#67", "g", "+", nil},
		{"\x03$g#67", Interrupt, "", nil},
		{"$g#6", "", "", io.ErrUnexpectedEOF},
		{"$ggg", "", "", io.EOF},
		{"$}#5d$g#67", "g", "-+", nil},
		{strings.Repeat("x", maxGarbageBytes+1), "", "", ErrGarbage},
		{strings.Repeat("$g#zz", maxBadSums+1), "", strings.Repeat("-", maxBadSums), ErrGarbage},
		{"$" + strings.Repeat("x", MaxPacketBytes+1), "", "", ErrGarbage},
	} {
		s := &stream{Reader: strings.NewReader(c.sent)}
		got, err := NewConn(s).Receive()
		if got != c.got || !errors.Is(err, c.err) || s.String() != c.answers {
			t.Errorf("%.40q: %q, %v, answered with %q; want %q, %v, %q", c.sent, got, err, s.String(), c.got, c.err, c.answers)
		}
	}
	s := &stream{Reader: strings.NewReader("$g#00$g#67")}
	c := NewConn(s)
	c.Quiet()
	if got, err := c.Receive(); got != "g" || err != nil || s.String() != "" {
		t.Errorf("without acknowledgements: %q, %v, answered with %q", got, err, s.String())
	}
}

func TestThreads(t *testing.T) {
	for text, want := range map[string]Thread{"p1.2": {1, 2}, "pf424a.-1": {1000010, All}, "p-1.-1": {All, All}, "p7": {7, All},
		"0": {0, 0}, "-1": {0, All}, "1f": {0, 31}} {
		if got, err := ParseThread(text); err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "p", "p1.", "px.1", "p1.x", "-2", "p-2.1", "ffffffffff"} {
		if got, err := ParseThread(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
	if got := (Thread{1000010, All}).String(); got != "pf424a.-1" {
		t.Error(got)
	}
}

func TestParts(t *testing.T) {
	for arguments, want := range map[string]string{"0,4": "mabcd", "2,4": "lcdef", "6,1": "l", "9,9": "l", "0,6": "labcdef",
		"0": "E01", "x,1": "E01", "": "E01"} {
		if got := Part("abcdef", arguments); got != want {
			t.Errorf("%s: %q, not %q", arguments, got, want)
		}
	}
}
