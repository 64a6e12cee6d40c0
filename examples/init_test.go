package examples

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// initialised is a folder with some files and the configuration that init writes for them.
func initialised(t *testing.T, program, name string, files map[string]string) string {
	t.Helper()
	dir := ".bloodhound/init/" + name // not in /tmp, which is empty in a world
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := call(t, program, "init", dir); code != holds {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	return dir
}

// TestInitGo has init write the configuration of a server in Go, whose first run holds as it is. A wrong port does not hold.
func TestInitGo(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	program := bloodhound(t)
	dir := initialised(t, program, "go", map[string]string{"go.mod": "module greeter\n\ngo 1.24\n", "main.go": `package main

import (
	"fmt"
	"net/http"
)

func main() {
	http.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.PathValue("name"))
	})
	panic(http.ListenAndServe(":9191", nil))
}
`})
	if out, code := call(t, program, "run", dir); code != holds || !strings.Contains(string(out), "works again") {
		t.Errorf("exit code %d, want %d\n%s", code, holds, out)
	}
	path := filepath.Join(dir, "bloodhound.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.ReplaceAll(string(text), "9191", "9192")
	if err := os.WriteFile(path, []byte(wrong), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, code := call(t, program, "run", dir); code == holds || wrong == string(text) {
		t.Errorf("with a wrong port: exit code %d\n%s", code, out)
	}
}

// TestInitPython has init write the configuration of the server of a template, whose planted bug a campaign finds with it.
func TestInitPython(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("runs with BLOODHOUND_SOAK=1")
	}
	needs.Program(t, "python3")
	program := bloodhound(t)
	server, err := os.ReadFile("../internal/config/templates/http-service/server.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := initialised(t, program, "python", map[string]string{"server.py": string(server)})
	if out, code := call(t, program, "explore", dir, "--seeds", "50", "--no-shrink"); code != violated || !strings.Contains(string(out), "which was no longer the value") {
		t.Errorf("exit code %d, want %d\n%s", code, violated, out)
	}
}

// TestInitBank has init write the driver and the properties of a bank over SQLite, which loses half a transfer at a crash.
func TestInitBank(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("runs with BLOODHOUND_SOAK=1")
	}
	needs.Program(t, "python3")
	program := bloodhound(t)
	server, err := os.ReadFile("testdata/bank/server.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := initialised(t, program, "bank", map[string]string{"server.py": string(server)})
	if out, code := call(t, program, "run", dir); code != holds {
		t.Errorf("a run without faults: exit code %d, want %d\n%s", code, holds, out)
	}
	if out, code := call(t, program, "explore", dir, "--seeds", "50", "--no-shrink"); code != violated || !strings.Contains(string(out), "Transfers do not change the sum") {
		t.Errorf("exit code %d, want %d\n%s", code, violated, out)
	}
}
