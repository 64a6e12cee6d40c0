package wire

import (
	"net"
	"testing"
	"time"
)

// A write that is under way counts as sent, and one of which no byte was sent does not.
func TestSentBytes(t *testing.T) {
	ours, theirs := net.Pipe()
	c := &Conn{Conn: ours}
	done := make(chan error)
	go func() {
		_, err := c.Write([]byte("abc"))
		done <- err
	}()
	for until := time.Now().Add(20 * time.Second); c.Sent() != 3; {
		if time.Now().After(until) {
			t.Fatalf("%d bytes", c.Sent())
		}
		time.Sleep(time.Millisecond) // a pipe has no event for a write that has begun
	}
	theirs.Close()
	if err := <-done; err == nil || c.Sent() != 0 {
		t.Errorf("%v, and %d bytes count as sent", err, c.Sent())
	}
}

// A library that dials again gets no second connection.
func TestOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	once, conn, err := NewOnce(l.Addr().String(), time.Now().Add(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := once.TakeConn(); err != nil || got != net.Conn(conn) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := once.TakeConn(); err == nil {
		t.Error("a second connection")
	}
	conn.Close()
}

func TestParse(t *testing.T) {
	got, err := Parse("s3://key:secret@n1/bucket", "80")
	if want := (Server{Host: "n1:80", User: "key", Password: "secret", Path: "/bucket"}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Parse("mqtt://n1:99", "1883"); err != nil || got.Host != "n1:99" {
		t.Errorf("%+v, %v", got, err)
	}
}
