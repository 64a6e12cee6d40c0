package cli

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/history"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// published is a line of testdata/published.txt: a history of another project by its name and digest, with the verdict that this project published and ours.
// A verdict is unknown where the history has nothing that could be wrong, or what ours does not judge.
type published struct {
	digest, verdict, ours string
	name                  string
	args                  []string
}

func publishedHistories(t *testing.T) (list []published) {
	f, err := os.Open(filepath.Join("testdata", "published.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		list = append(list, published{words[0], words[1], words[2], words[3], words[4:]})
	}
	return list
}

// digestOf is a digest of a file, or of the logs of a folder.
func digestOf(t *testing.T, name string) string {
	files := []string{name}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		files, _ = filepath.Glob(filepath.Join(name, "*.log"))
		slices.Sort(files)
	}
	h := sha256.New()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(h, f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// verdictOf returns check's verdict on a history.
func verdictOf(t *testing.T, args ...string) string {
	var out, log strings.Builder
	Main(append([]string{"check", "--json"}, args...), &out, &log)
	var doc history.CheckDocument
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil || len(doc.Verdicts) != 1 {
		return "error: " + log.String()
	}
	return string(doc.Verdicts[0].Status)
}

// TestPublishedHistories judges histories of Knossos and Cobra, of which BLOODHOUND_HISTORIES names a folder with their repositories, and those of
// Porcupine.
func TestPublishedHistories(t *testing.T) {
	root := os.Getenv("BLOODHOUND_HISTORIES")
	if root == "" {
		t.Skip("BLOODHOUND_HISTORIES names no folder with checkouts of knossos and CobraLogs")
	}
	for _, h := range publishedHistories(t) {
		t.Run(h.name, func(t *testing.T) {
			name := filepath.Join(root, filepath.FromSlash(h.name))
			if _, err := os.Stat(name); err != nil {
				t.Skipf("%s is not in the folder", h.name)
			}
			if got := digestOf(t, name); got != h.digest {
				t.Fatalf("its digest is %s, not %s: it is another history", got, h.digest)
			}
			if got := verdictOf(t, append(h.args, name)...); got != h.ours {
				t.Errorf("%s, want %s; %s was published", got, h.ours, h.verdict)
			}
			if h.ours != h.verdict && h.ours != string(check.Unknown) {
				t.Errorf("%s is against the published verdict, %s", h.ours, h.verdict)
			}
		})
	}
}

// TestHistoriesOfPorcupine judges all histories of Porcupine's tests as users do, by their files; the verdicts stand in these tests.
func TestHistoriesOfPorcupine(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		needs.Missing(t, "github.com/anishathalye/porcupine", err)
	}
	dir := strings.TrimSpace(string(out))
	source, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		needs.Missing(t, "github.com/anishathalye/porcupine", err)
	}
	count := 0
	judge := func(file, legal string) {
		want := map[string]string{"true": "holds", "false": "violated"}[legal]
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		if got := verdictOf(t, file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
		count++
	}
	for _, m := range regexp.MustCompile(`\tcheckJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(source), -1) {
		judge(filepath.Join(dir, "test_data", "jepsen", "etcd_"+strings.Repeat("0", 3-len(m[1]))+m[1]+".log"), m[2])
	}
	for _, m := range regexp.MustCompile(`\tcheckKv\(t, "(.*)", (true|false), true\)`).FindAllStringSubmatch(string(source), -1) {
		judge(filepath.Join(dir, "test_data", "kv", m[1]+".txt"), m[2])
	}
	if count != 102+6 {
		t.Errorf("%d histories, want 108", count)
	}
}
