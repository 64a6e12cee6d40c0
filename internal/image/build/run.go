package build

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Command is a command that a RUN executes.
type Command struct {
	Image      *image.Image // the tree that it finds
	Argv       []string
	Env        []string // NAME=value
	Dir        string
	User       string // as in USER; empty is root
	StartNs    int64  // its clock at the start, ns since 1970
	ExtraHosts []Host
	ShmBytes   int64
}

// Result is how a command ended.
type Result struct {
	// Failed is empty if it ended well, and else such as "exit status 2", or why it was not let run to its end.
	Failed string
	Output []string // its last lines
	EndNs  int64    // its clock at the end
	// Unrepeatable says why the same command may change other things another time, or empty.
	Unrepeatable string
}

// Runner executes a command, and, if it ended well, hands out what it has changed: entries in the order of a layer's archive, with
// the contents of files.
type Runner func(ctx context.Context, c *Command, change func(e rootfs.Entry, content io.Reader) error) (*Result, error)

// mount is one of RUN --mount: what is at a place for this command alone.
type mount struct {
	target string // relative to the root
	layer  rootfs.Layer
	cache  string // the id of a cache, or empty
}

// scripts is where heredocs that begin with #! lie while they run.
const scripts = "run/dockerfile"

func (s *steps) run(c *instructions.RunCommand) error {
	for _, flag := range c.FlagsUsed {
		switch flag {
		case "mount", "network", "security":
		default:
			return &Error{Text: fmt.Sprintf("RUN --%s is not supported", flag), Remedy: "remove it, or build the image with `docker build`"}
		}
	}
	if n := instructions.GetNetwork(c); s.do && n != instructions.NetworkDefault && n != instructions.NetworkNone {
		s.report("note: %s: RUN --network=%s has no effect here, since no RUN has network access", s.place(c), n)
	}
	config := &s.state.config.Config
	argv, script := s.command(c)
	env := s.env()
	cmd := &Command{Argv: argv, Env: env, Dir: cmp.Or(config.WorkingDir, "/"), User: config.User,
		ExtraHosts: s.request.ExtraHosts, ShmBytes: s.request.ShmBytes}
	inputs := []string{"RUN", text(argv), text(env), cmd.Dir, cmd.User, text(cmd.ExtraHosts), fmt.Sprint(cmd.ShmBytes), script}
	mounts, err := s.mounts(c, cmd, &inputs)
	if err != nil {
		return err
	}
	if script != "" {
		m := mount{target: scripts}
		name := path.Base(argv[0])
		if err := m.file(s, scripts+"/"+name, 0o755, 0, 0, strings.NewReader(script)); err != nil {
			return err
		}
		mounts = append(mounts, m)
	}
	return s.effect(c, inputs, func(l *layer) error { return l.run(c, cmd, mounts) })
}

// command returns the command that a RUN executes, and the heredoc if that is the script to execute.
func (s *steps) command(c *instructions.RunCommand) (argv []string, script string) {
	if !c.PrependShell || len(c.Files) == 0 {
		return s.argv(c.ShellDependantCmdLine), ""
	}
	line := c.ShellDependantCmdLine
	if len(line.CmdLine) == 1 && parser.MustParseHeredoc(line.CmdLine[0]) != nil { // nothing but one heredoc
		data := c.Files[0].Data
		if c.Files[0].Chomp {
			data = parser.ChompHeredocContent(data)
		}
		if strings.HasPrefix(data, "#!") {
			return []string{"/" + scripts + "/" + path.Base(c.Files[0].Name)}, data
		}
		line.CmdLine = []string{data}
		return s.argv(line), ""
	}
	all := strings.Join(line.CmdLine, " ")
	for _, f := range c.Files {
		all += "\n" + f.Data + f.Name
	}
	line.CmdLine = []string{all}
	return s.argv(line), ""
}

// mounts returns the mounts of a RUN. In a stage that is only planned, the mounts are empty, but inputs lists all of
// them.
func (s *steps) mounts(c *instructions.RunCommand, cmd *Command, inputs *[]string) ([]mount, error) {
	var all []mount
	for _, m := range instructions.GetMounts(c) {
		*inputs = append(*inputs, "--mount", string(m.Type), m.Source, m.Target, m.From, m.CacheID, text(m.Env), text(m.Mode), text(m.UID), text(m.GID))
		target := m.Target
		if m.Type == instructions.MountTypeSecret && target == "" && m.Env == nil {
			target = "/run/secrets/" + path.Base(cmp.Or(m.CacheID, m.Source))
		}
		if target == "" && m.Type != instructions.MountTypeSecret && m.Type != instructions.MountTypeSSH {
			return nil, &Error{Text: fmt.Sprintf("RUN --mount=type=%s has no target", m.Type), Remedy: "add target=FOLDER"}
		}
		real := strings.TrimPrefix(s.inImage(target), "/")
		if s.do && target != "" {
			tree, err := s.treeOf(s.state)
			if err != nil {
				return nil, err
			}
			if real, err = resolve(tree.Lookup, s.inImage(target), true); err != nil {
				return nil, err
			}
		}
		if target != "" && real == "" {
			return nil, &Error{Text: "RUN --mount: nothing can be mounted over /"}
		}
		one := mount{target: real}
		var err error
		switch m.Type {
		case instructions.MountTypeTmpfs:
			one.folder(0o1777, 0, 0)
		case instructions.MountTypeCache:
			err = s.cache(&one, m, inputs)
		case instructions.MountTypeBind:
			err = s.bind(&one, m, inputs)
		case instructions.MountTypeSecret:
			var there bool
			if there, err = s.secret(&one, m, cmd); !there && err == nil {
				continue
			}
		default:
			return nil, &Error{Text: fmt.Sprintf("RUN --mount=type=%s: a RUN cannot use anything of this machine", m.Type),
				Remedy: "copy the files it fetches into the context, or build the image with `docker build`"}
		}
		if err != nil {
			return nil, err
		}
		if target != "" {
			all = append(all, one)
		}
	}
	return all, nil
}

// folder begins a mount with an empty folder that hides what the image has there.
func (m *mount) folder(mode uint32, uid, gid int) {
	m.layer.Entries = append(m.layer.Entries, rootfs.Entry{Path: m.target, Kind: rootfs.Opaque},
		rootfs.Entry{Path: m.target, Kind: rootfs.Folder, Mode: mode, UID: uid, GID: gid, MtimeNs: epoch})
}

// file adds a file, whose content the store keeps.
func (m *mount) file(s *steps, at string, mode uint32, uid, gid int, content io.Reader) error {
	if !s.do {
		return nil
	}
	digest, n, err := s.Store.Keep(image.Until(s.ctx, content))
	m.layer.Entries = append(m.layer.Entries,
		rootfs.Entry{Path: at, Kind: rootfs.File, Mode: mode, UID: uid, GID: gid, Size: n, Digest: digest, MtimeNs: epoch})
	return err
}

// graft puts what is below a folder of files, or a file, in the place of the mount.
func (m *mount) graft(s *steps, f *files, from string) error {
	e := f.tree.Lookup(from)
	put := func(p string) error {
		n := *f.tree.Lookup(p)
		n.Path, n.First = strings.TrimSuffix(m.target+"/"+below(from, p), "/"), ""
		if n.Kind == rootfs.File && n.Digest == "" {
			r, err := f.open(f.tree.Lookup(p))
			if err != nil {
				return err
			}
			defer r.Close()
			if n.Digest, n.Size, err = s.Store.Keep(image.Until(s.ctx, r)); err != nil {
				return err
			}
		}
		m.layer.Entries = append(m.layer.Entries, n)
		return nil
	}
	if e.Kind != rootfs.Folder {
		return put(from)
	}
	m.layer.Entries = append(m.layer.Entries, rootfs.Entry{Path: m.target, Kind: rootfs.Opaque})
	if err := put(from); err != nil {
		return err
	}
	return each(f.tree, from, put)
}

func (s *steps) bind(one *mount, m *instructions.Mount, inputs *[]string) error {
	f, err := s.sources(m.From)
	if err != nil {
		return err
	}
	if f.key != "" {
		*inputs = append(*inputs, f.key)
	}
	if f.tree == nil {
		return nil
	}
	source := strings.TrimPrefix(path.Clean("/"+m.Source), "/")
	real, err := resolve(f.tree.Lookup, source, true)
	if err != nil {
		return err
	}
	if f.tree.Lookup(real) == nil {
		return &Error{Text: fmt.Sprintf("RUN --mount: %s does not exist: %s", cmp.Or(m.Source, "/"), f.missing(source))}
	}
	if f.key == "" {
		it := item{files: f, paths: []string{real}}
		if *inputs, err = (&copying{}).digests(*inputs, &it, m.Source); err != nil {
			return err
		}
	}
	if !s.do {
		return nil
	}
	return one.graft(s, f, real)
}

func (s *steps) cache(one *mount, m *instructions.Mount, inputs *[]string) error {
	mode, uid, gid := uint32(0o755), 0, 0
	if m.Mode != nil {
		mode = uint32(*m.Mode)
	}
	if m.UID != nil {
		uid = int(*m.UID)
	}
	if m.GID != nil {
		gid = int(*m.GID)
	}
	one.cache = cmp.Or(m.CacheID, path.Clean(m.Target))
	if i := slices.IndexFunc(s.state.caches, func(c cached) bool { return c.ID == one.cache }); i >= 0 {
		l, err := s.Store.Layer(s.ctx, s.state.caches[i].Diff)
		if err != nil {
			return err
		}
		f := &files{tree: rootfs.NewTree(l)}
		return one.graft(s, f, "")
	}
	if m.From == "" {
		one.folder(mode, uid, gid)
		return nil
	}
	return s.bind(one, m, inputs)
}

// maxSecretBytes bounds a secret.
const maxSecretBytes = 16 << 20

func (s *steps) secret(one *mount, m *instructions.Mount, cmd *Command) (bool, error) {
	id := cmp.Or(m.CacheID, path.Base(cmp.Or(m.Source, m.Target)))
	secret, ok := s.request.Secrets[id]
	if !ok {
		if m.Required {
			return false, &Error{Text: fmt.Sprintf("RUN needs the secret %q, which the build does not have", id), Remedy: "list it under `build.secrets`"}
		}
		return false, nil
	}
	value := secret.Value
	if secret.File != "" {
		var err error
		if value, err = regular.Read(secret.File, maxSecretBytes); err != nil {
			return false, &Error{Text: fmt.Sprintf("the secret %s: %v", id, err)}
		}
	}
	if m.Env != nil {
		cmd.Env = set(slices.Clone(cmd.Env), cmp.Or(*m.Env, id), string(value))
	}
	if one.target == "" {
		return true, nil
	}
	mode, uid, gid := uint32(0o400), 0, 0
	if m.Mode != nil {
		mode = uint32(*m.Mode)
	}
	if m.UID != nil {
		uid = int(*m.UID)
	}
	if m.GID != nil {
		gid = int(*m.GID)
	}
	return true, one.file(s, one.target, mode, uid, gid, bytes.NewReader(value))
}

// run executes a command and writes what it has changed.
func (l *layer) run(c *instructions.RunCommand, cmd *Command, mounts []mount) error {
	if l.Run == nil {
		return &Error{Text: "RUN needs an engine, but this machine has none"}
	}
	layers, err := l.layersOf(l.before)
	if err != nil {
		return err
	}
	slices.SortStableFunc(mounts, func(a, b mount) int { return cmp.Compare(strings.Count(a.target, "/"), strings.Count(b.target, "/")) })
	for i := range mounts {
		layers = append(layers, &mounts[i].layer)
	}
	img, release := l.Store.Assemble(l.before.config, layers...)
	defer release()
	const second = 1e9
	cmd.Image, cmd.StartNs = img, (l.ns/second+1)*second
	changes := &rootfs.Layer{}
	left := int64(image.MaxLayerBytes)
	l.report("%s: %s", l.place(c), title(c))
	result, err := l.Run(l.ctx, cmd, func(e rootfs.Entry, content io.Reader) error {
		if e.Kind == rootfs.File && e.First == "" {
			if left -= e.Size; left < 0 {
				return &Error{Text: fmt.Sprintf("the command leaves more than %d GiB of files", image.MaxLayerBytes>>30)}
			}
			var err error
			if e.Digest, e.Size, err = l.Store.Keep(image.Until(l.ctx, content)); err != nil {
				return err
			}
		}
		changes.Entries = append(changes.Entries, e)
		return nil
	})
	if err != nil {
		return err
	}
	if result.Failed != "" {
		return &Error{Text: fmt.Sprintf("%s: %s", title(c), result.Failed), Remedy: remedy(c, result.Output), Output: result.Output}
	}
	if result.Unrepeatable != "" {
		l.report("warning: %s: the next build may produce a different image: %s", l.place(c), result.Unrepeatable)
	}
	l.ns = max(l.ns, result.EndNs)
	if err := l.keepCaches(mounts, append(layers, changes)); err != nil {
		return err
	}
	return l.changed(mounts, changes)
}

// changed writes those of a command's changes that are at no mount.
func (l *layer) changed(mounts []mount, changes *rootfs.Layer) error {
	mounted := func(p string) bool {
		return slices.ContainsFunc(mounts, func(m mount) bool { return p == m.target || strings.HasPrefix(p, m.target+"/") })
	}
	first := map[string]string{} // of a file: the name by which it was written
	for i := range changes.Entries {
		e := changes.Entries[i]
		if mounted(e.Path) {
			continue
		}
		if e.First != "" {
			name := e.First
			if e.First = first[name]; e.First == "" {
				j := slices.IndexFunc(changes.Entries, func(o rootfs.Entry) bool { return o.Path == name && o.First == "" })
				if j < 0 {
					return fmt.Errorf("/%s is a hard link to /%s, which does not exist", e.Path, name)
				}
				e.Digest, e.Size = changes.Entries[j].Digest, changes.Entries[j].Size
				first[name] = e.Path
			}
		} else if e.Kind == rootfs.File {
			first[e.Path] = e.Path
		}
		if err := l.put(&e, func() (io.ReadCloser, error) { return os.Open(l.Store.File(e.Digest)) }); err != nil {
			return err
		}
	}
	return nil
}

// keepCaches keeps what a command has left in its caches.
func (l *layer) keepCaches(mounts []mount, layers []*rootfs.Layer) error {
	if !slices.ContainsFunc(mounts, func(m mount) bool { return m.cache != "" }) {
		return nil
	}
	tree := rootfs.NewTree(layers...)
	l.caches = slices.Clone(l.caches)
	for _, m := range mounts {
		if m.cache == "" || tree.Lookup(m.target) == nil {
			continue
		}
		f := &files{tree: tree, owned: true, open: func(e *rootfs.Entry) (io.ReadCloser, error) { return os.Open(l.Store.File(e.Digest)) }}
		diff, err := l.Store.AddLayer(l.ctx, func(w *rootfs.LayerWriter) error {
			inner := &layer{steps: l.steps, before: l.before, out: w, made: map[string]rootfs.Kind{}, links: true}
			root := *tree.Lookup(m.target)
			root.Path = ""
			if err := inner.put(&root, nil); err != nil {
				return err
			}
			return (&copying{}).tree(inner, f, m.target, "", owner{})
		})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(l.caches, func(c cached) bool { return c.ID == m.cache })
		if i < 0 {
			l.caches = append(l.caches, cached{ID: m.cache, Diff: diff})
		} else {
			l.caches[i].Diff = diff
		}
	}
	slices.SortFunc(l.caches, func(a, b cached) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

// fetches are commands that need a network, and lost is what such print without one.
var (
	fetches = lazyregexp.New(`\b(apt|apt-get|apk|dnf|yum|microdnf|zypper|pip3?|uv|poetry|npm|npx|yarn|pnpm|go (mod|get|install)|curl|wget|git|cargo|bundle|gem|mvn|gradle|composer|dotnet)\b`)
	lost    = lazyregexp.New(`(?i)name resolution|could(n't| not) resolve|no such host|ENOTFOUND|EAI_AGAIN|network is unreachable|getaddrinfo|unable to locate package|dial (tcp|udp)|connection refused|name or service not known|no matching distribution|temporary failure`)
)

// remedy returns advice for a command that failed, or "".
func remedy(c *instructions.RunCommand, output []string) string {
	if !lost.MatchString(strings.Join(output, "\n")) && !fetches.MatchString(strings.Join(c.CmdLine, " ")) {
		return ""
	}
	return "a RUN has no network access, so that every build produces the same image. COPY the files it fetches from the context (`go mod " +
		"vendor`, `pip download`, node_modules), " +
		"start from an image that has them, or build the image elsewhere, `docker save` it, and set it in bloodhound.yaml: `nodes: " +
		"{SERVICE: {image: \"docker-archive:FILE\"}}`"
}
