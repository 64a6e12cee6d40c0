package cli

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// oneCoin is a world in which only one program breaks a promise by its end, so that the failure has one headline whatever the tape.
const oneCoin = `name: coin
nodes:
  n1: {command: /coin, root: ./root, working_dir: /}
  n2: {command: /coin, root: ./root, working_dir: /, allow: {exit: [7]}}
faults:
  rules:
    - {kind: crash, targets: [n2], rate: 0.01}
    - {kind: pause, targets: [n1], rate: 0.01, duration_ms: 1500}
simulation: {max_time: 20s, seeds: 40}
exploration: {seed: 1}
`

// A failure has one id and one headline on the terminal, in its file, in JSON, on its page, on the dashboard and in the post of a webhook. The run that
// shows it is named beside.
func TestOneFailureOneIdentity(t *testing.T) {
	dir := t.TempDir()
	bloodhound := filepath.Join(dir, "bloodhound-native") // with the engine that runs programs
	if err := os.Symlink(command(t, dir), bloodhound); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "coin")
	if err := os.CopyFS(filepath.Join(project, "root"), os.DirFS("testdata/versions/coin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(project, "root", "coin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "bloodhound.yaml"), []byte(oneCoin), 0o666); err != nil {
		t.Fatal(err)
	}
	posts := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- string(body)
	}))
	defer hook.Close()
	start := func(arguments ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), bloodhound, arguments...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=", "BLOODHOUND_STORE=", "BLOODHOUND_STATE=")
		cmd.Stderr = &strings.Builder{}
		return cmd
	}
	ended := func(cmd *exec.Cmd, want int) {
		t.Helper()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%q ended with exit code %d:\n%s", cmd.Args, got, cmd.Stderr)
		}
	}
	run := func(want int, arguments ...string) string {
		t.Helper()
		cmd := start(arguments...)
		out, _ := cmd.Output()
		ended(cmd, want)
		return string(out)
	}
	// A worker finds it, before anyone else has.
	worker := start("worker", "coin", "--store", "db", "--slice", "1s", "--webhook", hook.URL)
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	post := <-posts
	worker.Process.Signal(os.Interrupt)
	worker.Wait()
	ended(worker, 1)
	if len(posts) > 0 {
		t.Fatalf("another post: %s", <-posts)
	}
	var announced announcement
	if err := json.Unmarshal([]byte(post), &announced); err != nil {
		t.Fatal(err)
	}
	f := announced.Failure
	// A campaign finds it, too, and the file is in the state folder.
	screen := run(1, "explore", "coin")
	document := run(1, "explore", "coin", "--json")
	var campaign campaignDocument
	if err := json.Unmarshal([]byte(document), &campaign); err != nil {
		t.Fatal(err)
	}
	if len(campaign.Campaign.Failures) != 1 {
		t.Fatalf("%d failures", len(campaign.Campaign.Failures))
	}
	found := campaign.Campaign.Failures[0].Failure
	stored, err := report.Load(filepath.Join(project, ".bloodhound"), f.ID)
	if err != nil {
		t.Fatal(err)
	}
	run(0, "report", f.ID, "coin", "--html", filepath.Join(dir, "page.html"))
	run(0, "dashboard", "--store", "db", "--export", "pages")
	page := readFile(t, filepath.Join(dir, "page.html"))
	pages, err := filepath.Glob(filepath.Join(dir, "pages", "failure-*.html"))
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	shown := readFile(t, pages[0])
	for place, text := range map[string]string{"terminal": screen, "document": document, "page": page, "dashboard": shown, "webhook": post} {
		plain := strings.Join(strings.Fields(html.UnescapeString(text)), " ")
		for _, want := range []string{f.ID, f.Headline} {
			if !strings.Contains(plain, want) {
				t.Errorf("the %s does not have %q:\n%s", place, want, text[:min(len(text), 3000)])
			}
		}
	}
	for place, other := range map[string]failure.Failure{"document": found, "file": stored.Failure} {
		if other.ID != f.ID || other.Headline != f.Headline || other.Signature != f.Signature || other.Property != f.Property || other.RunID == "" {
			t.Errorf("the %s has %+v, and the webhook %+v", place, other, f)
		}
	}
	if f.Headline != failure.Headline(stored.Verdict.Reason) || announced.Of != f.ID || f.RunID == "" {
		t.Errorf("%+v of %q", announced, stored.Verdict.Reason)
	}
	for _, name := range []string{f.ID, f.ID[:6], stored.RunID, stored.Name()} {
		run(1, "replay", name, "coin")
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
