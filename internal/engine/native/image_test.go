//go:build linux && amd64

package native_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A program of an image runs with the image's loader and libraries, sees the image's files, and nothing of this machine.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	root := imagetest.New(t)
	for name, flag := range map[string]string{"pie": "-pie", "fixed": "-no-pie"} {
		to := filepath.Join(dir, name)
		if out, err := exec.Command("gcc", "-O1", "-fPIE", flag, "-o", to, "testdata/image/loaded.c", "-ldl").CombinedOutput(); err != nil {
			needs.Missing(t, "gcc", err, string(out))
		}
		content, err := exec.Command("cat", to).Output()
		if err != nil {
			t.Fatal(err)
		}
		root.Text("/opt/"+name, 0o755, string(content))
	}
	sh := root.Program("/bin/sh")
	for _, p := range []string{"/bin/sleep", "/bin/ls", "/bin/ln", "/bin/rm", "/bin/cat", "/lib/x86_64-linux-gnu/libm.so.6"} {
		root.Program(p)
	}
	img := root.Image(v1.Config{})
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{{Name: "data/one", Size: 3, Mode: 0o640, Uid: 7}, {Name: "data/two", Typeflag: tar.TypeLink, Linkname: "data/one"}} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, "one")
		}
	}
	w.Close()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		t.Fatal(err)
	}
	store, err := image.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	name := imagetest.Layout(t, filepath.Join(dir, "layout"), img)
	got, err := store.Get(context.Background(), name, "", "", image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	script := "/opt/pie; /opt/fixed; ls /; ls /usr /home; cat /etc/debian_version; rm /data/one; cat /data/two; ls -l /data " +
		">/dev/null; echo x >/tmp/t; cat /tmp/t; (sleep 1; echo late) & exit 0"
	spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Image: &world.Image{Name: name, ID: got.ID}, WorkingDir: "/",
			Command: []string{sh, "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}}}
	var lines []string
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Images: store, Log: func(l record.LogLine) { lines = append(lines, l.Text) }})
	if err != nil {
		t.Fatal(err)
	}
	want := `/opt/pie: zeros 1, data 3, local 7, exe /opt/pie, execfn /opt/pie
entry 1, headers 1, count 1, base 1, heap 1, maths 1
links 2 2, same 1, owner 7, mode 640
/opt/fixed: zeros 1, data 3, local 7, exe /opt/fixed, execfn /opt/fixed
entry 1, headers 1, count 1, base 1, heap 1, maths 1
links 2 2, same 1, owner 7, mode 640
`
	text := strings.Join(lines, "\n") + "\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	for _, line := range []string{"data\ndev\netc\nlib", "cannot access '/home'", "/etc/debian_version: No such file", "\nonex\n"} {
		if !strings.Contains(text, line) && !strings.Contains(text, strings.TrimPrefix(line, "\n")) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
	if strings.Contains(text, "late") {
		t.Error("a process has outlived the first one of its container")
	}
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	first := lines
	lines = nil
	watched, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1},
		engine.Options{Images: store, Log: func(l record.LogLine) { lines = append(lines, l.Text) },
			Code: &code.Watch{Choice: code.Choice{"*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if watched.Hash != out.Hash || !slices.Equal(lines, first) || countBlocks(watched.Code, "/opt/pie") == 0 || countBlocks(watched.Code, "/opt/fixed") == 0 {
		t.Errorf("with breakpoints: %q, blocks %v", lines, watched.Code)
	}
	if out.Files["image:"+name] != strings.TrimPrefix(got.ID, "sha256:") {
		t.Errorf("files %v", out.Files)
	}
}

// A working directory that an image does not have is made for root, as container engines do, also where the root is read-only.
func TestWorkingDirOfImage(t *testing.T) {
	dir := t.TempDir()
	root := imagetest.New(t)
	sh := root.Program("/bin/sh")
	for _, p := range []string{"/bin/stat", "/bin/pwd"} {
		root.Program(p)
	}
	root.Link("/dangling", "/nowhere")
	root.Folder("/there", 0o750, 7)
	name := imagetest.Layout(t, filepath.Join(dir, "layout"), root.Image(v1.Config{}))
	store, err := image.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	got, err := store.Get(context.Background(), name, "", "", image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir      string
		user     string
		readOnly bool
		want     string // what the program says
		problem  string // or why it does not start
	}{
		{dir: "/srv/app/data", want: "755 0 0 /srv/app/data\n755 0 0 /srv/app"},
		{dir: "/srv/app", user: "1000:1000", readOnly: true, want: "755 0 0 /srv/app\n755 0 0 /srv"},
		{dir: "/there", want: "750 7 7 /there\n755 0 0 /"},
		{dir: "/there/below", want: "755 0 0 /there/below\n750 7 7 /there"},
		{dir: "/volume/sub", want: "755 0 0 /volume/sub\n755 0 0 /volume"},
		{dir: "/dangling", problem: "the folder /dangling does not exist"},
		{dir: "/dangling/sub", problem: "the folder /dangling/sub does not exist"},
		{dir: "/proc/none", problem: "the folder /proc/none does not exist"},
		{dir: sh, problem: sh + " is not a folder"},
	} {
		spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
			Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10",
				Image: &world.Image{Name: name, ID: got.ID}, WorkingDir: c.dir, User: c.user, ReadOnly: c.readOnly,
				Volumes: []world.Volume{{Kind: world.Named, Source: "v", Target: "/volume"}},
				Command: []string{sh, "-c", "here=$(pwd); stat -c '%a %u %g %n' $here; cd ..; stat -c '%a %u %g %n' $(pwd)"},
				Env:     []string{"PATH=/usr/bin:/bin"}}}}
		var lines []string
		o := engine.Options{Images: store, Log: func(l record.LogLine) { lines = append(lines, l.Text) }}
		if err := native.New().Validate(spec, o); c.problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: got %v, want %q", c.dir, err, c.problem)
			}
			continue
		} else if err != nil {
			t.Errorf("%s: %v", c.dir, err)
			continue
		}
		if _, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, o); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(lines, "\n"); said != c.want {
			t.Errorf("%s: it says\n%s\nwant\n%s", c.dir, said, c.want)
		}
	}
}

// A map names files as the node does, so that nothing depends on where this machine keeps an image or what is mounted.
func TestMapsOfImages(t *testing.T) {
	dir := t.TempDir()
	root := imagetest.New(t)
	sh := root.Program("/bin/sh")
	cat, err := filepath.EvalSymlinks(root.Program("/bin/cat"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"/bin/ls", "/bin/cp", "/bin/rm"} {
		root.Program(p)
	}
	name := imagetest.Layout(t, filepath.Join(dir, "layout"), root.Image(v1.Config{}))
	content, err := exec.Command("cat", "/bin/cat").Output()
	if err != nil {
		t.Fatal(err)
	}
	var text, hash string
	for i, place := range []string{"s", "a/much/longer/name of/a folder", "watched"} {
		source := filepath.Join(dir, place, "bound")
		if err := os.MkdirAll(source, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, "two cats"), content, 0o755); err != nil {
			t.Fatal(err)
		}
		store, err := image.Open(filepath.Join(dir, place, "store"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		got, err := store.Get(context.Background(), name, "", "", image.Options{})
		if err != nil {
			t.Fatal(err)
		}
		script := "cat /proc/self/maps; '/v/two cats' /proc/self/smaps; cp " + cat + " /copy; /copy /proc/self/maps; ls -i " + cat + " /copy; " +
			"cat /proc/$$/maps & wait; cp " + sh + " /gone; /gone -c 'rm /gone; cat /proc/$$/maps & wait'"
		spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
			Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10",
				Image: &world.Image{Name: name, ID: got.ID}, WorkingDir: "/",
				Volumes: []world.Volume{{Kind: world.Bind, Source: source, Target: "/v"}}, Command: []string{sh, "-c", script},
				Env: []string{"PATH=/usr/bin:/bin"}}}}
		var lines []string
		o := engine.Options{Images: store, Log: func(l record.LogLine) { lines = append(lines, l.Text) }}
		if place == "watched" { // from copies of all files, which no program sees
			o.Code = &code.Watch{Choice: code.Choice{"*"}}
		}
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, o)
		if err != nil {
			t.Fatal(err)
		}
		if (len(out.Code) > 4) != (place == "watched") {
			t.Errorf("%s: the blocks of %d files are watched", place, len(out.Code))
		}
		if !out.Repeat.Reproducible {
			t.Errorf("not reproducible: %s", out.Repeat.Reason)
		}
		said := strings.Join(lines, "\n")
		if i > 0 {
			if out.Hash != hash || said != text {
				t.Errorf("hash %s, and %s with another folder;\n%s\nand\n%s", out.Hash, hash, said, text)
			}
			continue
		}
		text, hash = said, out.Hash
	}
	shell, err := filepath.EvalSymlinks(sh)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{cat, "/v/two cats", "/copy", filepath.Base(shell), "/gone (deleted)",
		"/lib/x86_64-linux-gnu/libc.so.6", "/ld-linux-x86-64.so.2"} {
		for _, rights := range []string{"r--p", "r-xp"} {
			if !regexp.MustCompile(`(?m)^[0-9a-f]+-[0-9a-f]+ ` + rights + ` [0-9a-f]{8} 08:[0-9a-f]{2} [1-9][0-9]* +\S*` +
				regexp.QuoteMeta(want) + `$`).MatchString(text) {
				t.Errorf("no %s map of %s in\n%s", rights, want, text)
			}
		}
	}
	for _, path := range []string{cat, "/copy"} {
		number := regexp.MustCompile(`(?m)^ *([0-9]+) ` + path + `$`).FindStringSubmatch(text)
		if number == nil || !regexp.MustCompile(`(?m) 08:01 `+number[1]+` +`+path+`$`).MatchString(text) {
			t.Errorf("%s: inode %q, not so in\n%s", path, number, text)
		}
	}
	if strings.Contains(text, dir) || strings.Contains(text, "files/") {
		t.Errorf("it shows this machine's paths:\n%s", text)
	}
}

// A report of a program that an image lacks names the image, and the places where else the image has it.
func TestInspectImages(t *testing.T) {
	dir := t.TempDir()
	root := imagetest.New(t)
	root.Text("/usr/bin/etcd", 0o755, "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 11)+"\x3e\x00")
	store, err := image.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	name := imagetest.Layout(t, filepath.Join(dir, "layout"), root.Image(v1.Config{}))
	got, err := store.Get(context.Background(), name, "", "", image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]engine.Mistake{
		"/usr/local/bin/etcd": {Problem: "there is no program /usr/local/bin/etcd in image " + name + ", which has /usr/bin/etcd",
			Remedy: "write /usr/bin/etcd"},
		"/opt/none": {Problem: "there is no program /opt/none in image " + name,
			Remedy: "see what is in the image under /opt, and correct the path, or use an image that has the program"},
		"none": {Problem: `there is no program "none" in the node's PATH in image ` + name + " (/usr/bin:/bin)",
			Remedy: "give its path, or add its folder to PATH in the node's `environment:`"},
	} {
		spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 1e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
			Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10",
				Image: &world.Image{Name: name, ID: got.ID}, WorkingDir: "/",
				Command: []string{program}, Env: []string{"PATH=/usr/bin:/bin"}}}}
		var found engine.Mistakes
		if err := native.New().Validate(spec, engine.Options{Images: store}); !errors.As(err, &found) || len(found) != 1 {
			t.Fatalf("%s: %v, want one mistake", program, err)
		}
		if m := found[0]; m.Problem != want.Problem || m.Remedy != want.Remedy {
			t.Errorf("%s: %s (%s), want %s (%s)", program, m.Problem, m.Remedy, want.Problem, want.Remedy)
		}
	}
}
