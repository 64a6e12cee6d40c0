// Package docker speaks the part of the Docker Engine API that the container engine needs, over a daemon's socket. Podman serves the same
// API. Calls name no version, so that each daemon answers in its own.
package docker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/image"
)

// Client speaks to one daemon.
type Client struct {
	Socket string
	http   *http.Client
}

// Error is a refusal of the daemon.
type Error struct {
	Status int // of HTTP
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Missing reports whether an error is that the daemon does not have what a call names.
func Missing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// Find returns the first daemon of this machine that answers. Its error names the remedy.
func Find(ctx context.Context) (*Client, error) {
	for _, env := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		if u, err := url.Parse(os.Getenv(env)); err == nil && u.Scheme != "" && u.Scheme != "unix" {
			return nil, fmt.Errorf("%s is %s, but the container engine needs a daemon on this machine, because "+
				"nodes use files of this machine; set a socket, as in %s=unix:///var/run/docker.sock", env, u, env)
		}
	}
	var denied, silent []string
	for _, socket := range image.Sockets() {
		c := Open(socket)
		err := c.Call(ctx, http.MethodGet, "/_ping", nil, nil, nil)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, fs.ErrPermission):
			denied = append(denied, socket)
		default:
			silent = append(silent, socket)
		}
	}
	if len(denied) > 0 {
		return nil, fmt.Errorf("this user may not use the socket %s of the container daemon; add the user to the group of that "+
			"file (`sudo usermod -aG docker $USER`, then log in again), or run as root", denied[0])
	}
	return nil, fmt.Errorf("no Docker or Podman daemon answers at %s; start one (`systemctl start docker`, "+
		"`systemctl --user start podman.socket`), set its socket with DOCKER_HOST=unix://..., or use --engine native",
		strings.Join(silent, ", "))
}

// Open is a client of the daemon that listens at a socket.
func Open(socket string) *Client {
	return &Client{Socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes a call whose body is in, as JSON or, if it is an io.Reader, as an archive of tar, and reads the answer into out. Both may
// be nil. An answer that is no success is an *Error.
func (c *Client) Call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	req, err := newRequest(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices && answer.StatusCode != http.StatusNotModified {
		return refusal(answer)
	}
	if out == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return fmt.Errorf("the daemon at %s answered %s %s with invalid JSON: %w", c.Socket, method, path, err)
	}
	return nil
}

func newRequest(ctx context.Context, method, path string, query url.Values, in any) (*http.Request, error) {
	at := url.URL{Scheme: "http", Host: "daemon", Path: path, RawQuery: query.Encode()}
	var body io.Reader
	kind := "application/json"
	switch in := in.(type) {
	case nil:
	case io.Reader:
		body, kind = in, "application/x-tar"
	default:
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err == nil && in != nil {
		req.Header.Set("Content-Type", kind)
	}
	return req, err
}

func refusal(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	var m struct{ Message string }
	if json.Unmarshal(bytes.TrimSpace(text), &m) != nil || m.Message == "" {
		m.Message = strings.TrimSpace(answer.Status + " " + string(text))
	}
	return &Error{answer.StatusCode, m.Message}
}

func (c *Client) unreachable(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	if errors.Is(err, syscall.EACCES) {
		err = fs.ErrPermission
	}
	return fmt.Errorf("the daemon at %s: %w", c.Socket, err)
}

// Stream is a connection to a program in a container: what is written is its standard input.
type Stream struct {
	conn   net.Conn
	reader *bufio.Reader
}

// Hijack makes a call after which the connection belongs to a program (attach, exec).
func (c *Client) Hijack(ctx context.Context, path string, query url.Values, in any) (*Stream, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return nil, c.unreachable(err)
	}
	req, err := newRequest(ctx, http.MethodPost, path, query, in)
	if err == nil {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "tcp")
		err = req.Write(conn)
	}
	if err != nil {
		conn.Close()
		return nil, c.unreachable(err)
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, req)
	if err != nil {
		conn.Close()
		return nil, c.unreachable(err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols && answer.StatusCode != http.StatusOK {
		defer conn.Close()
		return nil, refusal(answer)
	}
	return &Stream{conn, reader}, nil
}

func (s *Stream) Write(p []byte) (int, error) { return s.conn.Write(p) }

// CloseWrite ends the program's standard input.
func (s *Stream) CloseWrite() error {
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close ends the connection.
func (s *Stream) Close() error { return s.conn.Close() }

// maxLine bounds a line of output; what is longer comes in parts.
const maxLine = 1 << 20

// Lines reads what the program writes until it has ended, and gives each line with its stream, 1 for standard output and 2 for standard
// error (Docker Engine API, ContainerAttach, "Stream format").
func (s *Stream) Lines(line func(stream int, text []byte)) error {
	var part [3][]byte
	defer func() {
		for i, rest := range part {
			if len(rest) > 0 {
				line(i, rest)
			}
		}
	}()
	var head [8]byte
	for {
		if _, err := io.ReadFull(s.reader, head[:]); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		stream := int(head[0])
		if stream >= len(part) {
			return fmt.Errorf("a frame belongs to stream %d, which does not exist", stream)
		}
		p := make([]byte, binary.BigEndian.Uint32(head[4:]))
		if _, err := io.ReadFull(s.reader, p); err != nil {
			return err
		}
		p = append(part[stream], p...)
		for {
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				break
			}
			line(stream, p[:i:i])
			p = p[i+1:]
		}
		if len(p) >= maxLine {
			line(stream, p)
			p = nil
		}
		part[stream] = p
	}
}
