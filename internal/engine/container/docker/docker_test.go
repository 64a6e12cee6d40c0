package docker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func frame(stream byte, text string) []byte {
	head := make([]byte, 8)
	head[0] = stream
	binary.BigEndian.PutUint32(head[4:], uint32(len(text)))
	return append(head, text...)
}

func TestLines(t *testing.T) {
	in := slices.Concat(frame(1, "a\nb"), frame(2, "x\n"), frame(1, "c\n\nrest"))
	s := &Stream{reader: bufio.NewReader(bytes.NewReader(in))}
	var got []string
	if err := s.Lines(func(stream int, text []byte) { got = append(got, fmt.Sprintf("%d%s", stream, text)) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1a", "2x", "1bc", "1", "1rest"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	s = &Stream{reader: bufio.NewReader(bytes.NewReader(in[:9]))}
	if err := s.Lines(func(int, []byte) {}); err == nil {
		t.Error("half a frame is no error")
	}
}

func TestRefusal(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"no such image"}`)
	})}
	go server.Serve(l)
	defer server.Close()
	c := Open(socket)
	defer c.Close()
	if err := c.Call(t.Context(), http.MethodGet, "/images/x/json", nil, nil, nil); !Missing(err) || err.Error() != "no such image" {
		t.Errorf("%v", err)
	}
	if _, err := c.Hijack(t.Context(), "/exec/x/start", nil, map[string]bool{}); !Missing(err) {
		t.Errorf("%v", err)
	}
	server.Close()
	if err := c.Call(t.Context(), http.MethodGet, "/_ping", nil, nil, nil); err == nil || !strings.Contains(err.Error(), socket) {
		t.Errorf("%v", err)
	}
}
