package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/exitcode"
	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
)

// federate runs a verb in the current folder, and gives its exit code, its output and its error.
func federate(args ...string) (int, string, string) {
	var o, e bytes.Buffer
	code := Main(append([]string{"federate"}, args...), &o, &e)
	return code, o.String(), e.String()
}

// lines passes on what is written, and sends what it has so far.
type lines struct {
	bytes.Buffer
	first chan string
}

func (l *lines) Write(p []byte) (int, error) {
	if l.first != nil {
		l.first <- string(p)
		l.first = nil
	}
	return l.Buffer.Write(p)
}

// A domain with BIRD answers its operator, who finds that a neighbour can take over a prefix, and a peer, who asks for origins
// and may ask no more than its budget has.
func TestLiveFederate(t *testing.T) {
	c := &birdtest.Neighbour{Address: "127.0.0.3", AS: 65003, Import: "all", Export: "none"}
	d := &birdtest.Neighbour{Address: "127.0.0.4", AS: 65004, Import: "all", Export: "all"}
	bird := birdtest.Start(t, "", 3, c, d)
	known := netip.MustParsePrefix("192.0.2.0/24")
	c.Send(t, c.Update(t, nil, []netip.Prefix{known}))
	d.Await(known)
	t.Chdir(t.TempDir())
	keys := map[string]string{}
	for _, name := range []string{"b", "c", "d"} {
		code, out, err := federate("key", name+".pem")
		if code != 0 {
			t.Fatal(err)
		}
		keys[name] = strings.TrimSpace(out)
	}
	if code, _, err := federate("key", "b.pem"); code == 0 || !strings.Contains(err, "exists") {
		t.Errorf("a key is overwritten: %d, %s", code, err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("pid", fmt.Sprintln(bird.PID))
	domain := func(name, listen, peers string) {
		write(name+".yaml", fmt.Sprintf("name: %s\nasn: %d\nkey: %s.pem\nlog: %s.log\nlisten: %s\nrouter: {bird: {pid_file: pid, control: %s}}\npeers:\n%s",
			name, birdtest.AS, name, name, listen, bird.Control, peers))
	}
	nobody := "127.0.0.1:1" // refuses connections
	peers := fmt.Sprintf("  c: {key: %s, address: '%s', session: 127.0.0.3, queries: 1}\n  d: {key: %s, address: '%s', session: 127.0.0.4}\n",
		keys["c"], nobody, keys["d"], nobody)
	domain("b", "127.0.0.1:0", peers)

	ctx, end := context.WithCancel(t.Context())
	defer end()
	first := make(chan string, 1)
	out := &lines{first: first}
	ended := make(chan error)
	go func() {
		a := &app{out: out, err: io.Discard}
		root := a.root(nil)
		root.SetArgs([]string{"federate", "--config", "b.yaml"})
		ended <- root.ExecuteContext(ctx)
	}()
	var line string
	select {
	case line = <-first:
	case err := <-ended:
		t.Fatal(err)
	}
	var address string
	if _, err := fmt.Sscanf(line, "domain b answers at %s", &address); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	address = strings.TrimSuffix(address, ";")

	domain("b", address, peers)
	code, text, errs := federate("check", "--config", "b.yaml", "--from", "d", "--prefix", "192.0.2.0/25", "--path", "65004 7", "--community", "65004:1")
	want := `d > b: accepted+best-changed+origin-conflict
FOUND hijack at b by d > b, for 0 bits of other domains
not followed: c takes no part: domain c at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused
not followed: d takes no part: domain d at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused
1 finding in 1 message; other domains have disclosed 0 bits
`
	if code != exitcode.Violated || text != want {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}
	code, text, errs = federate("check", "--config", "b.yaml", "--from", "d", "--prefix", "198.51.100.0/24", "--path", "65004")
	if code != exitcode.Unknown || !strings.Contains(text, "0 findings") {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}

	domain("c", nobody, fmt.Sprintf("  b: {key: %s, address: '%s'}\n", keys["b"], address))
	code, text, errs = federate("origin", "--config", "c.yaml", "--prefix", "192.0.2.0/24", "--asn", "65003", "b")
	if code != 0 || text != "b: AS65003 originates 192.0.2.0/24\n" {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}
	code, text, errs = federate("origin", "--config", "c.yaml", "--prefix", "192.0.2.0/24", "--asn", "65004")
	if code == 0 || !strings.Contains(errs, "the budget of this peer is used up") {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}

	code, text, errs = federate("audit", "--config", "c.yaml", "--of", "b", "b.log")
	if code != 0 || text != "b received 22 bits in 4 answers\nc received 1 bit in 1 answer\n" {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}
	end()
	if err := <-ended; err != nil || !strings.HasSuffix(out.String(), "c received 1 bit in 1 answer\n") {
		t.Errorf("%v\n%s", err, out)
	}
	log, err := os.ReadFile("b.log")
	if err != nil {
		t.Fatal(err)
	}
	var others string
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, `"peer":"c"`) {
			others += line
		}
	}
	write("others.log", others)
	code, _, errs = federate("audit", "--config", "c.yaml", "--of", "b", "others.log")
	if code == 0 || !strings.Contains(errs, `entry 1 for c is not there, which the domain has signed: "an origin"`) {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	write("b.log", strings.Replace(string(log), `"bits":1,`, `"bits":0,`, 1))
	if code, _, errs := federate("audit", "--config", "b.yaml"); code == 0 || !strings.Contains(errs, "the signature does not match the domain's key") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestLiveFederateRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("federation.yaml",
		[]byte("name: b\nasn: 1\nkey: b.pem\nlisten: 127.0.0.1:0\nrouter: {bird: {pid_file: pid, control: ctl}}\npeers: {c: {key: "+
			"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, address: 'c:1'}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect := func(problem string, args ...string) {
		t.Helper()
		if code, out, errs := federate(args...); code == 0 || !strings.Contains(errs, problem) || out != "" {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
	}
	expect("make one with `bloodhound live federate key FILE`")
	if code, _, errs := federate("key", "b.pem"); code != 0 {
		t.Fatal(errs)
	}
	expect("cannot copy the router: open ")
	expect("has no peer c with a session", "check", "--from", "c", "--prefix", "10.0.0.0/8", "--path", "1")
	expect("has no peer x", "origin", "--prefix", "10.0.0.0/8", "--asn", "1", "x")
	expect("more than one prefix", "origin", "--prefix", "10.0.0.0/8 le 24", "--asn", "1")
	expect("needs a peer", "audit", "--of", "x", "log")
	if err := os.WriteFile("b.pem", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("it has no PEM block of a private key", "check", "--from", "c", "--prefix", "10.0.0.0/8", "--path", "1")
}
