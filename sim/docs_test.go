package sim

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"fmt"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// documented is the world of docs/how-to/test-go-code-in-process.md, word by word.
func documented(w *inproc.World) {
	w.Process("server", func(p *inproc.Process) { // plain sequential code
		data, _ := p.Disk().Read("n") // what a crash has left
		n := len(data)
		for {
			m := p.Receive()
			n++
			p.Disk().Append("n", []byte{1})
			p.Reply(m, n) // before the disk is synchronised: a bug
		}
	})
	w.Client("client", func(p *inproc.Process) {
		last := 0
		for range 10 {
			p.Operation(inproc.Op{Kind: "incr", Key: "n"}, func() (string, error) {
				n, err := p.Call("server", "incr", 200*time.Millisecond)
				if err == nil {
					p.Assert(n.(int) > last, "the counter never goes back")
					last = n.(int)
				}
				return fmt.Sprint(n), err
			})
			p.Sleep(100 * time.Millisecond)
		}
	})
	w.Faults("crash on server rate 5% for 10ms..100ms")
}

// What the documentation shows does what it says there.
func TestTheDocumentedWorld(t *testing.T) {
	r := run(t, Campaign{}, documented)
	if r.ExitCode != check.ExitViolated || r.failures[0].Smallest.Shrunk.To.Faults != 1 {
		t.Errorf("exit code %d:\n%s", r.ExitCode, r.text.String())
	}
	body := func(name, from string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), from+"(w *inproc.World) {\n")
		inner, _, _ := strings.Cut(rest, "\n}\n")
		return inner
	}
	if a, b := body("docs_test.go", "func documented"), body("../docs/how-to/test-go-code-in-process.md", "func world"); a != b || a == "" {
		t.Errorf("the page has\n%s\nand this test\n%s", b, a)
	}
	page, err := os.ReadFile("../docs/how-to/test-go-code-in-process.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	code, _, _ := strings.Cut(rest, "```")
	if _, err := parser.ParseFile(token.NewFileSet(), "page.go", code, 0); err != nil {
		t.Error(err)
	}
}
