package sdk

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In a world the world decides, counts what the program observed, and learns by assertions whether the test holds and which faults never happened.
func TestInAWorld(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"BLOODHOUND_REPORT", "ANTITHESIS_SDK_LOCAL_OUTPUT"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, file)
	}
	socket := filepath.Join(dir, "mishap")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan []string)
	go func() {
		var list []string
		line := make([]byte, 256)
		for {
			n, err := server.Read(line)
			if err != nil {
				asked <- list
				return
			}
			list = append(list, string(line[:n]))
			answer := "0"
			if strings.HasPrefix(string(line[:n]), "mishap pay_charge_before 1") {
				answer = "1"
			}
			server.Write([]byte(answer))
		}
	}()
	r, err := (&surroundings{file: c}).play(t, func(r *Run) {
		NewPoint(r, "pay", "refund", Rates{After: 0.5})
		call := NewPoint(r, "pay", "charge", Rates{Before: 0.1, Twice: 0.2}).Call()
		if call.Way != Before || r.Choose("order", 5) != 0 {
			r.Errorf("the call is %v", call)
		}
		_ = call.Error(nil).Error()
	})
	if err != nil || r.Failed() {
		t.Fatalf("%v\n%s", err, r.text())
	}
	c.Close()
	if got, want := strings.Join(<-asked, ", "),
		"mishap pay_charge_before 100000, mishap pay_charge_twice 0, choose order 5, observed pay_charge_before"; got != want {
		t.Errorf("the program asked: %s", got)
	}
	report, _ := os.ReadFile(filepath.Join(dir, "BLOODHOUND_REPORT"))
	lines, _ := os.ReadFile(filepath.Join(dir, "ANTITHESIS_SDK_LOCAL_OUTPUT"))
	for _, want := range []string{
		`"condition":true,"details":{"failures":null},"display_type":"Always"`, `"message":"TestInAWorld holds"`,
		`"condition":true,"details":{"calls":1},"display_type":"Sometimes","hit":true,"id":"pay_charge_before happens"`,
		`"condition":false,"details":{"calls":0},"display_type":"Sometimes","hit":true,"id":"pay_refund_after happens"`,
	} {
		if !strings.Contains(string(lines), want) {
			t.Errorf("no assertion has %s:\n%s", want, lines)
		}
	}
	if strings.Count(string(report), "\n") != 2 {
		t.Errorf("the history is %s", report)
	}
}
