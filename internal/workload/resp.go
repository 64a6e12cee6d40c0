package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a reply in RESP2 (redis.io/docs/latest/develop/reference/protocol-spec).
const (
	maxLineBytes = 4 << 10
	maxElements  = 1024
	maxDepth     = 4
)

// respReply is one reply of a redis server.
type respReply struct {
	kind  byte // + - : $ *
	text  string
	null  bool
	items []respReply
}

func (r *respReply) String() string {
	switch {
	case r.null:
		return "(nil)"
	case r.kind == '*':
		var words []string
		for i := range r.items {
			words = append(words, r.items[i].String())
		}
		return strings.Join(words, " ")
	}
	return r.text
}

func respCommand(words ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(words)) + "\r\n")
	for _, w := range words {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(w)), 10)
		b = append(b, "\r\n"+w+"\r\n"...)
	}
	return b
}

func readRESP(in *bufio.Reader, depth int) (*respReply, error) {
	line, err := readLine(in)
	if err != nil {
		return nil, err
	}
	if line == "" {
		return nil, errors.New("an empty line instead of a reply")
	}
	r := &respReply{kind: line[0], text: line[1:]}
	switch r.kind {
	case '+', '-':
		return r, nil
	case ':':
		_, err := strconv.ParseInt(r.text, 10, 64)
		return r, err
	case '$', '*':
	default:
		return nil, fmt.Errorf("a reply that starts with %q", r.kind)
	}
	n, err := strconv.Atoi(r.text)
	if err != nil {
		return nil, err
	}
	r.text = ""
	switch {
	case n == -1:
		r.null = true
	case r.kind == '$' && (n < 0 || n > maxValueBytes), r.kind == '*' && (n < 0 || n > maxElements || depth >= maxDepth):
		return nil, fmt.Errorf("a reply of length %d at depth %d", n, depth)
	case r.kind == '$':
		p := make([]byte, n+2)
		if _, err := io.ReadFull(in, p); err != nil {
			return nil, err
		}
		if string(p[n:]) != "\r\n" {
			return nil, errors.New("a bulk reply that does not end")
		}
		r.text = string(p[:n])
	default:
		for range n {
			item, err := readRESP(in, depth+1)
			if err != nil {
				return nil, err
			}
			r.items = append(r.items, *item)
		}
	}
	return r, nil
}

func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < maxLineBytes {
		p, err := in.ReadSlice('\n')
		line = append(line, p...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		text, ok := strings.CutSuffix(string(line), "\r\n")
		if !ok {
			return "", errors.New("a line that does not end with CR LF")
		}
		return text, nil
	}
	return "", fmt.Errorf("a line of more than %d bytes", maxLineBytes)
}
