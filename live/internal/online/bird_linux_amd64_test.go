package online

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// What a neighbour of BIRD can take over is found, found again, and gone with a filter that is tried; BIRD itself keeps its filter and its table.
func TestBIRD(t *testing.T) {
	customer := &birdtest.Neighbour{Address: "127.0.0.2", AS: 65002, Import: "filter customer", Export: "none"}
	peer := &birdtest.Neighbour{Address: "127.0.0.3", AS: 65003, Import: "all", Export: "all"}
	bird := birdtest.Start(t, "filter customer { if net ~ [ 203.0.113.0/24+, 198.51.100.0/24 ] && (65001,7) ~ bgp_community then accept; reject; }",
		10, customer, peer)
	known := netip.MustParsePrefix("203.0.113.0/25")
	peer.Send(t, peer.Update(t, nil, []netip.Prefix{known, netip.MustParsePrefix("198.51.100.0/24")}, 65004))
	for !strings.Contains(bird.Ask(t, "show route "+known.String()), "AS65004") {
		time.Sleep(10 * time.Millisecond) // BIRD reads
	}
	before := bird.Table(t)

	budget := config.Budget{Explore: time.Hour, PathTime: time.Second, Paths: 1, CPUs: 100, MemoryBytes: 512 << 20}
	pace := &Pace{cpus: 100, begun: time.Now()}
	node := config.Node{Name: "p", BIRD: &config.BIRD{Control: bird.Control, Config: bird.Config}}
	if names, err := Handlers(&node); err != nil || strings.Join(names, " ") != "session0 session1" {
		t.Fatal(names, err)
	}
	explore := func(change []byte, known []search.Finding) *Explored {
		t.Helper()
		x, err := Explore(context.Background(), &Task{Node: node, Handler: "session0", Change: change, Known: known}, &budget, pace)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := explore(nil, nil)
	if len(x.Findings) != 2 || x.Findings[0].What != "session0 (AS65002) can take over 198.51.100.0/24" ||
		x.Findings[1].What != "session0 (AS65002) can take over 203.0.113.0/25 le 32" || x.Left != "" || x.BIRD.Routes != 12 || x.BIRD.Announcements != 2 {
		t.Fatalf("%+v %+v", x.Result, x.BIRD)
	}
	if last := x.Findings[0].Inputs[5]; last.Name != "community" || last.Value != 65001<<16|7 {
		t.Errorf("%+v", x.Findings[0])
	}
	if again := explore(nil, x.Findings); len(again.Findings) != 2 || !again.Known[0] || !again.Known[1] {
		t.Errorf("%+v", again)
	}
	// Without time for the whole table, what is known is tried all the same.
	hasty := budget
	hasty.Explore = time.Nanosecond
	if x, err := Explore(context.Background(), &Task{Node: node, Handler: "session0"}, &hasty, pace); err != nil || x.Left == "" || len(x.Findings) > 0 {
		t.Errorf("%+v, %v", x, err)
	}
	text, err := os.ReadFile(bird.Config)
	if err != nil {
		t.Fatal(err)
	}
	mended := explore(bytes.Replace(text, []byte("203.0.113.0/24+"), []byte("203.0.113.0/24"), 1), x.Findings)
	if len(mended.Findings) != 1 || !mended.Known[0] || mended.Known[1] {
		t.Errorf("%+v", mended)
	}
	bad := explore([]byte("protocol"), x.Findings)
	if len(bad.Findings) != 1 || !strings.Contains(bad.Findings[0].What, "the change is refused: /the change:1:") {
		t.Errorf("%+v", bad.Result)
	}
	fails := func(n *config.BIRD, change []byte, problem string) {
		t.Helper()
		_, err := Explore(context.Background(), &Task{Node: config.Node{Name: "p", BIRD: n}, Handler: "session0", Change: change}, &budget, pace)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v instead of %q", err, problem)
		}
	}
	fails(node.BIRD, bytes.ReplaceAll(text, []byte("127.0.0.2"), []byte("127.0.0.9")), "the change ends the session with session0")
	none := filepath.Join(t.TempDir(), "none")
	fails(&config.BIRD{Control: none}, nil, "no process of this user listens at")
	fails(&config.BIRD{Control: bird.Control, PIDFile: none}, nil, "start BIRD with `-P FILE`")
	fails(&config.BIRD{Control: bird.Control, PID: 1 << 30}, nil, "there is no process")
	fails(&config.BIRD{Control: bird.Control, PID: bird.PID, Config: none}, nil, "set `config` to its path")
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	fails(&config.BIRD{Control: bird.Control, PID: sleep.Process.Pid}, nil, "it is not BIRD, or uses another control socket")
	if after := bird.Table(t); after != before {
		t.Error("BIRD's table has changed")
	}
	peer.Close()
	for strings.Count(bird.Ask(t, "show protocols"), "Established") != 1 {
		time.Sleep(10 * time.Millisecond) // BIRD notices
	}
	fails(node.BIRD, nil, "BIRD has no other neighbour than session0")
}

func TestConfigurationsAreRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.conf": "1 include \"d/*.conf\"; 2\n# include \"none\";\n",
		"d/b.conf": "b include \"../e\";\n", "d/c.conf": "c", "e": "e", "loop": "include \"loop\";"} {
		os.Mkdir(filepath.Join(dir, "d"), 0o777)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(text string) (string, error) { return birdConfig(filepath.Join(dir, "a.conf"), []byte(text)) }
	if got, err := read("1 include \"d/*.conf\"; 2\n# include \"none\";\n"); err != nil ||
		strings.Join(strings.Fields(got), " ") != `1 b e c 2 # include "none";` {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := read("include \"none\";"); err == nil || !strings.Contains(err.Error(), "which does not exist") {
		t.Error(err)
	}
	if _, err := read("include \"loop\";"); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Error(err)
	}
}
