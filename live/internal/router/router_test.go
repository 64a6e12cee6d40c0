package router

import (
	"bytes"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
)

// A stream is cut into messages wherever writes end, and the end of a message whose beginning is missing is no message.
func TestStreams(t *testing.T) {
	keepalive, notification := birdtest.Message(4, nil), birdtest.Message(3, []byte{6, 2})
	all := append(bytes.Clone(keepalive), notification...)
	for cut := range len(all) {
		s := &stream{}
		first, stray := s.readMessages(all[:cut])
		second, more := s.readMessages(all[cut:])
		got := append(first, second...)
		if len(got) != 2 || got[0].Type != 4 || got[1].Type != 3 || !bytes.Equal(got[1].Bytes, notification) || len(stray)+len(more) > 0 {
			t.Errorf("cut at %d: %+v, stray %v %v", cut, got, stray, more)
		}
	}
	s := &stream{}
	got, stray := s.readMessages(append([]byte{1, 2, 3}, all...))
	if len(got) != 2 || !bytes.Equal(stray, []byte{1, 2, 3}) {
		t.Errorf("%+v, stray %v", got, stray)
	}
}
