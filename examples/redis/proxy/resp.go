package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// maxBulk bounds what a peer may announce.
const maxBulk = 1 << 20

// encode makes a command of redis' protocol: an array of bulk strings.
func encode(words ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.Bytes()
}

// readReply reads one reply as it is on the wire: a line, or a bulk string with its bytes.
func readReply(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || !bytes.HasSuffix(line, []byte("\r\n")) {
		return nil, fmt.Errorf("not redis' protocol: %q", line)
	}
	switch line[0] {
	case '+', '-', ':':
		return line, nil
	case '$':
		n, err := strconv.Atoi(string(line[1 : len(line)-2]))
		if err != nil || n > maxBulk {
			return nil, fmt.Errorf("not a length: %q", line)
		}
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return nil, err
		}
		return append(line, body...), nil
	}
	return nil, fmt.Errorf("not a reply: %q", line)
}

// readCommand reads an array of bulk strings.
func readCommand(in *bufio.Reader) ([]string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	var n int
	if _, err := fmt.Sscanf(line, "*%d\r\n", &n); err != nil || n < 1 || n > 16 {
		return nil, fmt.Errorf("not a command: %q", line)
	}
	words := make([]string, n)
	for i := range words {
		reply, err := readReply(in)
		if err != nil {
			return nil, err
		}
		_, text, ok := bytes.Cut(reply, []byte("\r\n"))
		if reply[0] != '$' || !ok || len(text) < 2 {
			return nil, fmt.Errorf("not a word: %q", reply)
		}
		words[i] = string(text[:len(text)-2])
	}
	return words, nil
}

// link is a connection to a redis-server.
type link struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(server string) (*link, error) {
	conn, err := net.DialTimeout("tcp", server+":6379", dialTimeout)
	if err != nil {
		return nil, err
	}
	return &link{conn, bufio.NewReader(conn)}, nil
}

// drop ends a connection at once: what the server has not got yet, it never gets.
func (l *link) drop() {
	if tcp, ok := l.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	l.conn.Close()
}

// do sends commands in one write and reads their replies.
func (l *link) do(timeout time.Duration, commands ...[]byte) ([][]byte, error) {
	l.conn.SetDeadline(time.Now().Add(timeout))
	if _, err := l.conn.Write(bytes.Join(commands, nil)); err != nil {
		return nil, err
	}
	replies := make([][]byte, len(commands))
	for i := range replies {
		reply, err := readReply(l.in)
		if err != nil {
			return nil, err
		}
		replies[i] = reply
	}
	return replies, nil
}
