package coverage

import (
	"math/rand/v2"
	"testing"
)

func TestHeads(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"*3\r\n$3\r\nset\r\n$6\r\nkey-17\r\n$1\r\n5\r\n", "*SET"},
		{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "*GET"},
		{"*3\r\n$8\r\nREPLCONF\r\n$3\r\nACK\r\n$2\r\n99\r\n", "*REPLCONF ACK"},
		{"*2\r\n$1\r\n7\r\n$1\r\n8\r\n", "*"},
		{"*0\r\n", "*0"},
		{"+OK\r\n", "+OK"},
		{"-MOVED 3999 127.0.0.1:6381\r\n", "-MOVED"},
		{"$-1\r\n", "$-1"},
		{"$5\r\nhello\r\n", "$"},
		{":42\r\n", ":"},
		{"GET /kv/k17?wait=1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /kv/k#"},
		{"GET /files/550e8400-e29b-41d4-a716-446655440000/x HTTP/1.1\r\n\r\n", "GET /files/*"},
		{"GET /files/8f14e45fceea167a5a36dedd4bea2543-1 HTTP/1.1\r\n\r\n", "GET /files/*"},
		{"POST /v3/kv/range HTTP/1.1\r\n\r\n", "POST /v#/kv"},
		{"GET / HTTP/1.1\r\n\r\n", "GET /"},
		{"HTTP/1.1 503 Service Unavailable\r\n\r\n", "HTTP 503"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "h2 preface"},
		{"\x00\x00\x00\x04\x01\x00\x00\x00\x00", "h2 SETTINGS"},
		{"\x00\x00\x02\x01\x04\x00\x00\x00\x01ab\x00\x00\x01\x00\x01\x00\x00\x00\x01x", "h2 HEADERS DATA"},
		{"c\r\n\x00\x00\x00\x00\x00\x00\x00\x04\x08\x03\x10\x02\r\n", "chunk len8 0803"},
		{"\x00\x00\x00\x06\x08\x05\x10\x01\x18\x02", "len4 0805"},
		{"Q\x00\x00\x00\x0dselect 1\x00", "msg Q SELECT"},
		{"T\x00\x00\x00\x05aD\x00\x00\x00\x05bD\x00\x00\x00\x05cC\x00\x00\x00\x05dZ\x00\x00\x00\x05I", "msg TDCZ"},
		{`{"src":"n1","body":{"type":"append_17","term":3}}`, "{append_#"},
		{`{"term":3,"id":"a"}`, "{term,id,"},
		{`{"k":"append","t":3}`, "{append"},
		{`{"k":1,"e":[{"i":1}],"c":"x,\"y"}`, "{k,e,c,"},
		{"\x00\x00\x00\x00\x00\x00\x00\x04\x08\x02\x10\x02\x00\x00\x00\x00\x00\x00\x00\x01\x01", "len8 0802"},
		{"CONNECT {\"verbose\":false}\r\n", "CONNECT"},
		{"RS+ $G a.b 1 2\r\n\x00\x01\x02", "RS"},
		{"PUB a.b 11\r\nxxxxxxxxxxx\r\n", "PUB a"},
		{"VOTE n2 4\n", "VOTE n#"},
		{"\x1f\xff\x81\x03\x01\x01\x07Request\x01\xff\x82\x00\x01Raft.AppendEntries\x00", "1fx Request"},
		{"", ""},
	} {
		h := HeadOf([]byte(c.data))
		if got := h.String(); got != c.want {
			t.Errorf("%q is %q, want %q", c.data, got, c.want)
		}
	}
}

// Bytes that mean nothing, as those of an encrypted connection, make few kinds.
func TestHeadsOfRandomBytesAreFew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[Head]int{}
	for range 20000 {
		b := make([]byte, 1+r.IntN(300))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		kinds[HeadOf(b)]++
	}
	if len(kinds) > 9000 {
		t.Errorf("%d kinds of 20000 random messages", len(kinds))
	}
}

func FuzzHead(f *testing.F) {
	f.Add([]byte("*1\r\n$999\r\nx"))
	f.Add([]byte("P\x00\x00\x00\x04"))
	f.Fuzz(func(t *testing.T, b []byte) { HeadOf(b) })
}

// A reply that is written in pieces begins anywhere in the later ones.
func TestAProtocolIsKnownByItsFirstMessage(t *testing.T) {
	for _, c := range [][]string{
		{"*1\r\n$4\r\nPING\r\n", "*PING", "nk_hits:0\r\nx:1", "~", "$2\r\nab\r\n", "$"},
		{"HTTP/1.1 200 OK\r\n\r\n", "HTTP 200", "{\"a\":1}", "~"},
		{"GET / HTTP/1.1\r\n\r\n", "GET /", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "h2 preface",
			"\x00\x00\x00\x04\x01\x00\x00\x00\x00", "h2 SETTINGS", "abc", "~"},
		{`{"type":"append","entries":["a`, "{append", `b"]}`, "~", `{"type":"vote"}`, "{vote"},
		{"hello you", "hello you", "+OK\r\n", "+OK"},
	} {
		p := new(Protocol)
		for i := 0; i < len(c); i += 2 {
			h := p.Head([]byte(c[i]))
			if got := h.String(); got != c[i+1] {
				t.Errorf("%q of %q is %q, want %q", c[i], c[0], got, c[i+1])
			}
		}
	}
}
