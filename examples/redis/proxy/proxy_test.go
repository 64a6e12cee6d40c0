package main

import (
	"bufio"
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	at := func(offset int64) status { return status{"slave", "L", offset, "a"} }
	for _, c := range []struct {
		name        string
		b, c        status
		want, first string // first: with the mistake
	}{
		{"equally far", at(7), at(7), "b", "b"},
		{"the first one is behind", at(7), at(9), "c", "b"},
		{"the second one is behind", at(9), at(7), "b", "b"},
		{"the first one does not answer", status{}, at(9), "", "c"},
		{"the second one does not answer", at(9), status{}, "", "b"},
		{"one was started anew, and may have what the other one lacks", at(7), status{"slave", "M", 1, "a"}, "", "b"},
		{"one is an old master", status{"master", "L", 9, ""}, at(7), "", "c"},
		{"nobody answers", status{}, status{}, "", ""},
	} {
		found := map[string]status{"b": c.b, "c": c.c}
		if got := choose([]string{"b", "c"}, found, "L", false); got != c.want {
			t.Errorf("%s: promotes %q, want %q", c.name, got, c.want)
		}
		if got := choose([]string{"b", "c"}, found, "L", true); got != c.first {
			t.Errorf("%s: with the mistake promotes %q, want %q", c.name, got, c.first)
		}
	}
}

func TestParseStatus(t *testing.T) {
	replica := "# Replication\r\nrole:slave\r\nmaster_host:redis1\r\nmaster_link_status:up\r\nslave_repl_offset:42\r\nmaster_replid:8a2f\r\nmaster_repl_offset:40\r\n"
	if got, want := parseStatus(replica), (status{"slave", "8a2f", 42, "redis1"}); got != want {
		t.Errorf("a replica: %+v, want %+v", got, want)
	}
	master := "# Replication\r\nrole:master\r\nconnected_slaves:2\r\nmaster_replid:8a2f\r\nmaster_repl_offset:43\r\n"
	if got, want := parseStatus(master), (status{"master", "8a2f", 43, ""}); got != want {
		t.Errorf("a master: %+v, want %+v", got, want)
	}
	if got := parseStatus("-NOAUTH\r\n"); got != (status{}) {
		t.Errorf("an error: %+v", got)
	}
}

func TestProtocol(t *testing.T) {
	words := []string{"SET", "k", "two\r\nlines", ""}
	if got, err := readCommand(bufio.NewReader(strings.NewReader(string(encode(words...))))); err != nil || !slices.Equal(got, words) {
		t.Errorf("%q, %v", got, err)
	}
	in := bufio.NewReader(strings.NewReader("+OK\r\n$-1\r\n$3\r\na\r\n\r\n:12\r\n-ERR no\r\n"))
	for _, want := range []string{"+OK\r\n", "$-1\r\n", "$3\r\na\r\n\r\n", ":12\r\n", "-ERR no\r\n"} {
		if got, err := readReply(in); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	for _, bad := range []string{"", "\r\n", "$x\r\n", "$5\r\nabc", "$99999999\r\n", "OK\r\n", "+OK\n"} {
		if got, err := readReply(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q is read as %q", bad, got)
		}
	}
	for _, bad := range []string{"PING\r\n", "*0\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n"} {
		if got, err := readCommand(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q is read as %q", bad, got)
		}
	}
}
