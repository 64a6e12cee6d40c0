package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
)

// bench is a store, with a base image, and a runner that writes down what it is asked, and makes the file /ran of that.
type bench struct {
	t     *testing.T
	store *image.Store
	dir   string
	ran   []string
	steps []string
	fails string
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	s, err := image.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	b := &bench{t: t, store: s, dir: t.TempDir()}
	b.write(files)
	return b
}

func (b *bench) write(files map[string]string) {
	b.t.Helper()
	for name, content := range files {
		path := filepath.Join(b.dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			if target, ok := strings.CutPrefix(content, "-> "); ok {
				err = os.Symlink(target, path)
			} else {
				err = os.WriteFile(path, []byte(content), 0o644)
			}
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// base is an image with users, a link for a folder, and instructions for those who begin with it.
func (b *bench) base(ctx context.Context, name string, _ bool) (*image.Image, error) {
	if name != "base" {
		return nil, fmt.Errorf("there is no image %s", name)
	}
	r := imagetest.New(b.t)
	r.Text("/etc/passwd", 0o644, "root:x:0:0::/root:/bin/sh\nada:x:1000:1001::/home/ada:/bin/sh\n")
	r.Text("/etc/group", 0o644, "root:x:0:\nstaff:x:50:\n")
	r.Folder("/usr/bin", 0o755, 0)
	r.Link("/bin", "usr/bin")
	r.Text("/usr/bin/tool", 0o755, "tool")
	name = imagetest.Layout(b.t, b.t.TempDir(),
		r.Image(v1.Config{Env: []string{"PATH=/usr/bin", "FROM_BASE=yes"}, WorkingDir: "/", Cmd: []string{"tool"}, OnBuild: []string{"ENV TRIGGERED=1"}}))
	return b.store.Get(ctx, name, "", "", image.Options{})
}

func (b *bench) run(_ context.Context, c *Command, change func(rootfs.Entry, io.Reader) error) (*Result, error) {
	b.ran = append(b.ran, strings.Join(c.Argv, " "))
	if b.fails != "" {
		return &Result{Failed: b.fails, Output: []string{"make: *** no rule"}}, nil
	}
	text := fmt.Sprintf("%q as %q in %s, %q", c.Argv, c.User, c.Dir, c.Env)
	for _, e := range []rootfs.Entry{{Path: "ran", Kind: rootfs.File, Mode: 0o644, MtimeNs: c.StartNs},
		{Path: "var/cache/kept", Kind: rootfs.File, Mode: 0o644, MtimeNs: c.StartNs}} {
		if e.Path == "var/cache/kept" {
			if old := c.Image.Tree.Lookup(e.Path); old != nil {
				text += " again"
			}
		}
		if err := change(e, strings.NewReader(text)); err != nil {
			return nil, err
		}
	}
	return &Result{EndNs: c.StartNs + 5e9}, nil
}

func (b *bench) try(change func(*Request)) (*image.Image, error) {
	r := &Request{Name: "test", Context: b.dir}
	if change != nil {
		change(r)
	}
	b.steps = nil
	builder := &Builder{Store: b.store, Image: b.base, Run: b.run, Report: func(text string) { b.steps = append(b.steps, text) }}
	return builder.Build(context.Background(), r)
}

func (b *bench) build(change func(*Request)) *image.Image {
	b.t.Helper()
	img, err := b.try(change)
	if err != nil {
		b.t.Fatal(err)
	}
	return img
}

// list is the tree of an image, a line a name, with short contents.
func list(t *testing.T, s *image.Store, img *image.Image) string {
	t.Helper()
	var out strings.Builder
	each(img.Tree, "", func(p string) error {
		e := img.Tree.Lookup(p)
		fmt.Fprintf(&out, "%c %04o %d:%d /%s", e.Kind, e.Mode, e.UID, e.GID, p)
		switch e.Kind {
		case rootfs.Symlink:
			out.WriteString(" -> " + e.Target)
		case rootfs.File:
			b, err := os.ReadFile(s.File(e.Digest))
			if err != nil {
				t.Fatal(err)
			}
			if img.Tree.Same(p) != p {
				out.WriteString(" = /" + img.Tree.Same(p))
			}
			fmt.Fprintf(&out, " %s", strings.TrimSpace(string(b)))
		}
		out.WriteString("\n")
		return nil
	})
	return out.String()
}

// Each Dockerfile leads to the tree that Docker makes, as Docker's reference says.
func TestTrees(t *testing.T) {
	files := map[string]string{"a.txt": "a", "b.txt": "b", "dir/c.txt": "c", "dir/sub/d.txt": "d", "link": "-> a.txt",
		"dirlink": "-> dir", "out": "-> /etc/passwd", "far": "-> ../../x", "empty/x": ""}
	for _, c := range []struct{ name, dockerfile, want string }{
		{"a file to a folder, a name, and a name in a folder", "COPY a.txt /x/\nCOPY a.txt /y\nCOPY a.txt /x/z",
			"f 0755 0:0 /x\n- 0644 0:0 /x/a.txt a\n- 0644 0:0 /x/z a\n- 0644 0:0 /y a\n"},
		{"what is in a folder", "COPY dir /d", "f 0755 0:0 /d\n- 0644 0:0 /d/c.txt c\nf 0755 0:0 /d/sub\n- 0644 0:0 /d/sub/d.txt d\n"},
		{"patterns", "COPY *.txt dir/*.txt nothing* /t/", "f 0755 0:0 /t\n- 0644 0:0 /t/a.txt a\n- 0644 0:0 /t/b.txt b\n- 0644 0:0 /t/c.txt c\n"},
		{"a link is followed if it is named, and copied if it lies in a folder", "COPY link /named\nCOPY dirlink /folder",
			"f 0755 0:0 /folder\n- 0644 0:0 /folder/c.txt c\nf 0755 0:0 /folder/sub\n- 0644 0:0 /folder/sub/d.txt d\n- 0644 0:0 /named a\n"},
		{"a working directory", "WORKDIR /w\nWORKDIR rel\nCOPY a.txt .\nCOPY b.txt ./n",
			"f 0755 0:0 /w\nf 0755 0:0 /w/rel\n- 0644 0:0 /w/rel/a.txt a\n- 0644 0:0 /w/rel/n b\n"},
		{"owners and modes", "COPY --chown=7:8 --chmod=600 a.txt /o/a\nCOPY --chown=9 --chmod=u=rwX,go= dir /d",
			"f 0700 9:9 /d\n- 0600 9:9 /d/c.txt c\nf 0700 9:9 /d/sub\n- 0600 9:9 /d/sub/d.txt d\nf 0755 7:8 /o\n- 0600 7:8 /o/a a\n"},
		{"with the folders above", "COPY --parents dir/sub/d.txt dir/./sub /p/",
			"f 0755 0:0 /p\nf 0755 0:0 /p/dir\nf 0755 0:0 /p/dir/sub\n- 0644 0:0 /p/dir/sub/d.txt d\nf 0755 0:0 /p/sub\n- 0644 0:0 /p/sub/d.txt d\n"},
		{"but for some", "COPY --exclude=sub --exclude=*.md dir /e", "f 0755 0:0 /e\n- 0644 0:0 /e/c.txt c\n"},
		{"texts", "ARG V=1\nCOPY <<EOF <<\"RAW\" /h/\nv=$V\nEOF\nv=$V\nRAW\n", "f 0755 0:0 /h\n- 0644 0:0 /h/EOF v=1\n- 0644 0:0 /h/RAW v=$V\n"},
		{"arguments and variables", "ARG D=dir\nENV E=${D:+yes} F=\"$D/x\"\nCOPY $D/c.txt /${E}/${F%/x}", "f 0755 0:0 /yes\n- 0644 0:0 /yes/dir c\n"},
		{"a later copy wins", "COPY a.txt /f\nCOPY b.txt /f", "- 0644 0:0 /f b\n"},
		{"a path that climbs stays inside", "COPY ./../../a.txt /a", "- 0644 0:0 /a a\n"},
		{"stages, by name and by number", "COPY a.txt /a\nFROM scratch AS two\nCOPY --from=0 /a /from0\nFROM scratch\nCOPY --from=two --chown=3 / /all/",
			"f 0755 3:3 /all\n- 0644 3:3 /all/from0 a\n"},
		{"a stage that begins with another", "COPY a.txt /a\nFROM first\nCOPY b.txt /b", "- 0644 0:0 /a a\n- 0644 0:0 /b b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, files)
			b.write(map[string]string{"Dockerfile": "FROM scratch AS first\n" + c.dockerfile + "\n"})
			want := strings.ReplaceAll(c.want, "f 0", "5 0")
			want = strings.ReplaceAll(want, "- 0", "0 0")
			if got := list(t, b.store, b.build(nil)); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// What is copied goes where the image's links lead, and belongs to its users.
func TestOntoAnImage(t *testing.T) {
	b := newBench(t, map[string]string{"x": "x",
		"Dockerfile": "FROM base\nCOPY --chown=ada:staff x /bin/\nCOPY --chown=ada x /bin/y\nCOPY --link x /opt/\nUSER ada\nWORKDIR /home/ada\n"})
	img := b.build(nil)
	got := list(t, b.store, img)
	for _, line := range []string{"2 0777 0:0 /bin -> usr/bin\n", "0 0644 1000:50 /usr/bin/x x\n",
		"0 0644 1000:1001 /usr/bin/y x\n", "5 0755 1000:1001 /home/ada\n", "0 0644 0:0 /opt/x x\n", "/usr/bin/tool tool\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	c := img.Config.Config
	if !slices.Contains(c.Env, "TRIGGERED=1") || !slices.Contains(c.Env, "FROM_BASE=yes") || len(c.OnBuild) != 0 ||
		c.User != "ada" || c.WorkingDir != "/home/ada" || !slices.Equal(c.Cmd, []string{"tool"}) {
		t.Errorf("%+v", c)
	}
}

// Instructions that change no file.
func TestConfigurations(t *testing.T) {
	b := newBench(t, map[string]string{"Dockerfile": `# escape=\
ARG BASE=base
FROM ${BASE} AS x
LABEL a=1 "b c"="d e"
ARG PORT=80 TARGETARCH
ENV A=$PORT B=${UNSET:-none} \
    C='$A'
EXPOSE $PORT 53/udp 7000-7001 8443:443
VOLUME ["/data", "/log"]
ENTRYPOINT exec tool "$A"
SHELL ["/bin/bash", "-c"]
CMD echo $A
STOPSIGNAL SIGQUIT
HEALTHCHECK --interval=3s --retries=2 CMD tool --check
ONBUILD COPY . /app
MAINTAINER somebody
`})
	c := b.build(func(r *Request) { r.Args, r.Labels = map[string]string{"PORT": "81"}, map[string]string{"l": "m"} }).Config
	got := text([]any{c.Config.Labels, c.Config.Env, c.Config.ExposedPorts, c.Config.Volumes, c.Config.Entrypoint, c.Config.Cmd,
		c.Config.StopSignal, c.Config.Healthcheck, c.Config.OnBuild, c.Author, c.OS, c.Architecture})
	const want = `[{"a":"1","b c":"d e","l":"m"},["PATH=/usr/bin","FROM_BASE=yes","TRIGGERED=1","A=81","B=none","C=$A"],{"443/tcp":{},"53/udp":{},"7000/tcp":{},"7001/tcp":{},"81/tcp":{}},{"/data":{},"/log":{}},["/bin/sh","-c","exec tool \"$A\""],["/bin/bash","-c","echo $A"],"SIGQUIT",{"Test":["CMD-SHELL","tool --check"],"Interval":3000000000,"Retries":2},["COPY . /app"],"somebody","linux","amd64"]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A RUN gets what the instructions before it say, and leaves what is at no mount.
func TestRun(t *testing.T) {
	b := newBench(t, map[string]string{"in/f": "f", "Dockerfile": `FROM base AS one
ARG A=1
ENV B=2
USER ada
WORKDIR /home/ada
RUN --mount=type=cache,target=/var/cache --mount=type=bind,source=in,target=/in --mount=type=secret,id=key,env=KEY make "$A"
RUN --mount=type=cache,target=/var/cache ["make", "again"]
RUN <<EOF
one
two
EOF
RUN <<EOF cat
text
EOF
RUN <<EOF
#!/usr/bin/tool
script
EOF
FROM scratch
COPY --from=one /ran /ran
`})
	img := b.build(func(r *Request) { r.Secrets = map[string]Secret{"key": {Value: []byte("hush")}} })
	want := []string{`/bin/sh -c make "$A"`, "make again", "/bin/sh -c one\ntwo\n", "/bin/sh -c <<EOF cat\ntext\nEOF", "/run/dockerfile/EOF"}
	if !slices.Equal(b.ran, want) {
		t.Errorf("ran %q", b.ran)
	}
	if got := list(t, b.store, img); !strings.Contains(got, `in /home/ada`) || strings.Contains(got, "hush") ||
		!strings.Contains(got, `"A=1"`) || !strings.Contains(got, `"B=2"`) || !strings.Contains(got, `as "ada"`) {
		t.Errorf("%s", got)
	}
	one := b.build(func(r *Request) {
		r.Target, r.Secrets = "one", map[string]Secret{"key": {Value: []byte("hush")}}
	})
	if e := one.Tree.Lookup("var/cache/kept"); e == nil { // of the steps without that mount
		t.Error("what a step wrote beside its mounts is not there")
	}
	if len(b.ran) != len(want) {
		t.Errorf("what was there was done again: %q", b.ran[len(want):])
	}
	b = newBench(t, map[string]string{"Dockerfile": "FROM base\nRUN --mount=type=cache,target=/var/cache first\nRUN " +
		"--mount=type=cache,target=/var/cache second\n"})
	img = b.build(nil)
	if got := list(t, b.store, img); strings.Contains(got, "kept") || !strings.Contains(got, "second") {
		t.Errorf("%s", got)
	}
}

// What has not changed is not done again, and what has is, with all that follows from it.
func TestCache(t *testing.T) {
	b := newBench(t, map[string]string{"a": "a", "b": "b", ".dockerignore": "ignored\n",
		"Dockerfile": "FROM base AS x\nCOPY a /a\nRUN one\nFROM base\nARG V=1\nCOPY --from=x /ran /r\nCOPY . /all\nRUN two\nLABEL l=1\n"})
	first := b.build(nil)
	count := func(what string, want int, change func(*Request)) *image.Image {
		t.Helper()
		b.ran = nil
		img := b.build(change)
		if len(b.ran) != want {
			t.Errorf("%s: ran %q", what, b.ran)
		}
		return img
	}
	if again := count("nothing", 0, nil); again.ID != first.ID || len(b.steps) != 0 {
		t.Errorf("%s, and was %s; steps %q", again.ID, first.ID, b.steps)
	}
	now := filepath.Join(b.dir, "a")
	if err := os.Chtimes(now, first.Config.Created.Time, first.Config.Created.Time); err != nil {
		t.Fatal(err)
	}
	b.write(map[string]string{"ignored": "1", ".bloodhound/runs": "1"})
	if again := count("times, and what is ignored", 0, nil); again.ID != first.ID {
		t.Error("another image")
	}
	b.write(map[string]string{"b": "B"})
	second := count("a file of the second stage", 1, nil)
	b.write(map[string]string{"a": "A"})
	count("a file of both", 2, nil)
	b.write(map[string]string{"a": "a", "b": "b"})
	if again := count("back again", 0, nil); again.ID != first.ID || second.ID == first.ID {
		t.Error("another image")
	}
	if again := count("without the cache", 2, func(r *Request) { r.NoCache = true }); again.ID != first.ID {
		t.Error("the same Dockerfile made another image")
	}
	count("one stage without the cache", 1, func(r *Request) { r.Uncached = []string{"x"} })
	count("an argument", 1, func(r *Request) { r.Args = map[string]string{"V": "2"} })

	// In another store, in another folder, later: the same image.
	other := newBench(t, map[string]string{"a": "a", "b": "b", ".dockerignore": "ignored\n",
		"Dockerfile": "FROM base AS x\nCOPY a /a\nRUN one\nFROM base\nARG V=1\nCOPY --from=x /ran /r\nCOPY . /all\nRUN two\nLABEL l=1\n"})
	if img := other.build(nil); img.ID != first.ID {
		t.Errorf("%s, and was %s", img.ID, first.ID)
	}

	// What is not whole in the store is made anew.
	layers, err := filepath.Glob(filepath.Join(b.storeDir(), "layers", "*"))
	if err != nil || len(layers) == 0 {
		t.Fatal(layers, err)
	}
	for _, l := range layers {
		if err := os.Truncate(l, 40); err != nil {
			t.Fatal(err)
		}
	}
	s, err := image.Open(b.storeDir())
	if err != nil {
		t.Fatal(err)
	}
	b.store.Close()
	b.store = s
	if again := count("a damaged store", 2, nil); again.ID != first.ID {
		t.Error("another image")
	}

	// A collection keeps the image that a name leads to, and lets go of what only led to it.
	if _, err := b.store.Collect(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	if again := count("after a collection", 0, nil); again.ID != first.ID {
		t.Error("another image")
	}
}

func (b *bench) storeDir() string { return filepath.Dir(b.store.Files()) }

// Mistakes have a line, and a remedy.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, dockerfile, want string }{
		{"no FROM", "RUN x", "Dockerfile:1"},
		{"empty", "# nothing", "Dockerfile"},
		{"an instruction that there is not", "FROM base\nCOPPY a b", "Dockerfile:2: unknown instruction"},
		{"a flag that there is not", "FROM base\nCOPY --from=base --hardly a b", "Dockerfile:2: "},
		{"a file that is not there", "FROM base\n\nCOPY nowhere /x", "Dockerfile:3: nowhere is not there: the context is "},
		{"a file that is left out", "FROM base\nCOPY secret /x", "Dockerfile:2: secret is not there: the file exists, but .dockerignore excludes it"},
		{"out of the context", "FROM base\nCOPY ../nowhere /x", "Dockerfile:2: ../nowhere is outside the context; use a larger `context:`"},
		{"a link out of the context", "FROM base\nCOPY out /x", "Dockerfile:2: out is not there"},
		{"a link far out of the context", "FROM base\nCOPY far /x", "Dockerfile:2: far is not there"},
		{"a user that there is not", "FROM base\nCOPY --chown=eve a /x", `Dockerfile:2: the image's /etc/passwd has no "eve"; create it in an earlier RUN`},
		{"a mode that is none", "FROM base\nCOPY --chmod=99 a /x", "Dockerfile:2: --chmod=99 is not a valid mode"},
		{"several to a name", "FROM base\nCOPY a b /x", "Dockerfile:2: there are 2 sources, but the destination /x is not a folder; end it with /"},
		{"below a file", "FROM base\nCOPY a /etc/passwd/x", "Dockerfile:2: /etc/passwd is not a folder in the image"},
		{"a folder in the place of a link", "FROM base\nCOPY tree /", "Dockerfile:2: a folder cannot be copied to /bin"},
		{"an image that there is not", "FROM base\nFROM other", "Dockerfile:2: FROM other: there is no image other"},
		{"no image", "FROM base\nFROM ${NONE}", "Dockerfile:2: FROM ${NONE} is not an image"},
		{"a stage that comes later", "FROM base AS one\nCOPY --from=later a b\nFROM one AS later", "Dockerfile:2: COPY: there is no image later"},
		{"another platform", "FROM --platform=linux/arm64 base", "Dockerfile:1: programs for linux/arm64 cannot run here"},
		{"what changes by itself", "FROM base\nADD https://example.org/x /x",
			"Dockerfile:2: the contents of https://example.org/x may change; add --checksum"},
		{"a checksum that is none", "FROM base\nADD --checksum=sha256:../../../x https://example.org/x /x", "Dockerfile:2: "},
		{"an empty checksum", "FROM base\nADD --checksum=sha256: https://example.org/x /x", "Dockerfile:2: "},
		{"a repository", "FROM base\nADD https://example.org/x.git /x", "is a repository"},
		{"keys of this machine", "FROM base\nRUN --mount=type=ssh x", "Dockerfile:2: RUN --mount=type=ssh: a RUN cannot use anything of this machine"},
		{"a secret that there is not", "FROM base\nRUN --mount=type=secret,id=k,required=true x", `Dockerfile:2: RUN needs the secret "k"`},
		{"a mount in the place of everything", "FROM base\nRUN --mount=type=tmpfs,target=/ x", "Dockerfile:2: "},
		{"a port that is none", "FROM base\nEXPOSE http", "Dockerfile:2: EXPOSE http is not a port"},
		{"a command that fails", "FROM base\n\nRUN make", "Dockerfile:3: RUN make: exit status 2\n  | make: *** no rule"},
		{"a command that fails for want of a network", "FROM base\nRUN apt-get install -y x", "a RUN has no network access"},
		{"an archive that climbs", "FROM base\nADD bad.tar /", `Dockerfile:2: bad.tar: "../x" is outside the image; use COPY, which does not unpack archives`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a": "a", "b": "b", "secret": "s", ".dockerignore": "secret",
				"out": "-> /etc/hostname", "far": "-> ../../../../etc/hostname", "tree/bin/x": "x"})
			b.fails = "exit status 2"
			b.write(map[string]string{"Dockerfile": c.dockerfile + "\n", "bad.tar": archive(t, tar.Header{Name: "../x", Mode: 0o644})})
			_, err := b.try(nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
	b := newBench(t, map[string]string{"Dockerfile": "FROM base AS one\nFROM base AS two\n"})
	if _, err := b.try(func(r *Request) { r.Target = "three" }); err == nil || !strings.Contains(err.Error(), "one, two") {
		t.Errorf("%v", err)
	}
	if _, err := b.try(func(r *Request) { r.Dockerfile = "Other" }); err == nil || !strings.Contains(err.Error(), "Other: cannot read the Dockerfile") {
		t.Errorf("%v", err)
	}
	if _, err := b.try(func(r *Request) { r.Context = "https://example.org/x.git" }); err == nil ||
		!strings.Contains(err.Error(), "must be a folder on this machine") {
		t.Errorf("%v", err)
	}
}

func archive(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := h.PAXRecords["content"]
		h.PAXRecords, h.Size = nil, int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// ADD unpacks archives of the context, whatever they are compressed by, and nothing else.
func TestAdd(t *testing.T) {
	plain := archive(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o750, Uid: 4},
		tar.Header{Name: "d/f", Mode: 0o640, Uid: 5, PAXRecords: map[string]string{"content": "f"}},
		tar.Header{Name: "d/g", Typeflag: tar.TypeLink, Linkname: "d/f"}, tar.Header{Name: "dev/null", Typeflag: tar.TypeChar, Mode: 0o666})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, plain)
	z.Close()
	download := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "far") }))
	defer download.Close()
	sum := sha256.Sum256([]byte("far"))
	b := newBench(t, map[string]string{"x.tar": plain, "x.tgz": zipped.String(), "text": "text", "bad.gz": "\x1f\x8bnot",
		"Dockerfile": "FROM scratch\nADD x.tar /t\nADD x.tgz /z/\nADD text /text\nADD bad.gz /\n" +
			"ADD --checksum=sha256:" + hex.EncodeToString(sum[:]) + " " + download.URL + "/far.txt /far/\nCOPY x.tar /\n"})
	img := b.build(nil)
	got := list(t, b.store, img)
	for _, line := range []string{"5 0750 4:0 /t/d\n", "0 0640 5:0 /t/d/f f\n", "/t/d/g = /t/d/f f\n", "0 0640 5:0 /z/d/f f\n",
		"/text text\n", "/bad.gz", "0 0600 0:0 /far/far.txt far\n", "/x.tar"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	b.write(map[string]string{"Dockerfile": "FROM scratch\nADD --checksum=sha256:" + strings.Repeat("0", 64) + " " + download.URL + "/far.txt /far/\n"})
	if _, err := b.try(nil); err == nil || !strings.Contains(err.Error(), "has the digest sha256:"+hex.EncodeToString(sum[:])) {
		t.Errorf("%v", err)
	}
}

// Nothing of this machine outside of a context comes into an image, whatever links say and whoever changes them meanwhile.
func TestContextsHold(t *testing.T) {
	b := newBench(t, map[string]string{"d/f": "inside", "Dockerfile": "FROM scratch\nCOPY . /all\n", "up": "-> ..", "abs": "-> /etc"})
	got := list(t, b.store, b.build(nil))
	if !strings.Contains(got, "/all/up -> ..\n") || !strings.Contains(got, "/all/abs -> /etc\n") || strings.Contains(got, "passwd") {
		t.Errorf("%s", got)
	}
	b.write(map[string]string{"Dockerfile": "FROM scratch\nCOPY abs/passwd up/d/f /x/\n"})
	if _, err := b.try(nil); err == nil || !strings.Contains(err.Error(), "abs/passwd is not there") {
		t.Errorf("%v", err)
	}
	w := &work{ctx: t.Context(), Builder: &Builder{Store: b.store}, request: &Request{Context: b.dir}, file: &dockerfile{}, folders: map[string]*folder{}}
	f, err := w.folder(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	e := f.files.tree.Lookup("d/f")
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "f"), []byte("outside"), 0o644),
		os.RemoveAll(filepath.Join(b.dir, "d")), os.Symlink(outside, filepath.Join(b.dir, "d"))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.open(e); err == nil {
		t.Error("a folder that became a link was followed out of the context")
	}
}
