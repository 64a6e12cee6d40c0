package needs

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browserTime bounds one visit, also on a busy machine.
const browserTime = 2 * time.Minute

// Browser is a headless Chromium that makes no requests of its own. A visit gives what it prints, and what the console of the page says.
func Browser(t testing.TB) (visit func(address string, arguments ...string) (out, console string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	program := Program(t, "chromium", "chromium-browser", "google-chrome")
	profile, err := os.MkdirTemp("", "bloodhound-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(profile) })
	return func(address string, arguments ...string) (string, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), browserTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
			"--user-data-dir=" + filepath.Join(profile, "profile"), "--window-size=1280,1600"}, append(arguments, address)...)...)
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		cmd.WaitDelay = time.Second
		if err := cmd.Run(); err != nil {
			t.Fatalf("chromium: %v\n%s", err, log.String())
		}
		var console []string
		for _, line := range strings.Split(log.String(), "\n") {
			if strings.Contains(line, "CONSOLE") {
				console = append(console, line)
			}
		}
		return out.String(), strings.Join(console, "\n")
	}
}
