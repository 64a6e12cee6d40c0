package build

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// stage gives a stage after its last step: planned, where nothing but configuration and key is known, or done.
func (w *work) stage(i int, do bool) (*state, error) {
	known := w.stages[0]
	if do {
		known = w.stages[1]
	}
	if s := known[i]; s != nil {
		return s, nil
	}
	s, err := w.baseState(i, do)
	if err != nil {
		return nil, err
	}
	commands, err := w.triggers(i, s, do)
	if err != nil {
		return nil, err
	}
	steps := &steps{work: w, number: i, state: s, do: do}
	for _, c := range commands {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if err := steps.step(c); err != nil {
			return nil, err
		}
	}
	known[i] = s
	return s, nil
}

// baseState returns the state that a stage begins with.
func (w *work) baseState(i int, do bool) (*state, error) {
	st := &w.file.stages[i]
	meta, err := w.metaArgs()
	if err != nil {
		return nil, err
	}
	known := w.scope(meta)
	base, err := w.word(st.BaseName, known)
	if err != nil {
		return nil, w.explain(err, st.Location, "FROM")
	}
	if base == "" {
		return nil, w.file.errorAt(st.Location, "give the ARG before FROM a default, or set it in `build.args`",
			"FROM %s is not an image: one of its variables is empty", st.BaseName)
	}
	platform, err := w.word(st.Platform, known)
	if err != nil {
		return nil, w.explain(err, st.Location, "FROM")
	}
	if platform != "" && platform != image.HostPlatform && !strings.HasPrefix(platform, image.HostPlatform+"/") {
		return nil, w.file.errorAt(st.Location, "build for "+image.HostPlatform, "programs for %s cannot run here", platform)
	}
	s, err := w.resolveBase(base, i, do)
	if err != nil {
		return nil, w.explain(err, st.Location, "FROM "+base)
	}
	return s.clone(), nil
}

// explain gives an error a place in the Dockerfile, if it has none.
func (w *work) explain(err error, at []parser.Range, what string) error {
	if e, ok := err.(*Error); ok {
		if e.File == "" {
			e.File = w.file.name
		}
		if e.Line == 0 && e.File == w.file.name && len(at) > 0 {
			e.Line = at[0].Start.Line
		}
		return e
	}
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	return w.file.errorAt(at, "", "%s: %v", what, err)
}

// resolveBase resolves a name after FROM or --from=: a named context, a stage before the given one, scratch, or an image.
func (w *work) resolveBase(name string, before int, do bool) (*state, error) {
	if c, ok := w.request.Contexts[name]; ok {
		if c.Image == nil {
			return nil, &Error{Text: fmt.Sprintf("the context %s is a folder, but a stage starts from an image", name),
				Remedy: "copy from it with COPY --from=" + name}
		}
		return w.image(name, func() (*image.Image, error) { return c.Image(w.ctx) })
	}
	if j := w.file.find(name, before); j >= 0 && (w.file.stages[j].Name != "" && strings.EqualFold(w.file.stages[j].Name, name)) {
		return w.stage(j, do)
	}
	if name == "scratch" {
		return &state{key: "scratch", ns: epoch, config: v1.ConfigFile{Architecture: "amd64", OS: "linux",
			Config: v1.Config{Env: []string{"PATH=" + defaultPath}}}}, nil
	}
	return w.image(name, func() (*image.Image, error) { return w.Image(w.ctx, name, w.request.Pull) })
}

// image is the state that an image begins.
func (w *work) image(name string, find func() (*image.Image, error)) (*state, error) {
	if s := w.images[name]; s != nil {
		return s, nil
	}
	img, err := find()
	if err != nil {
		return nil, err
	}
	s := &state{key: img.ID, config: *img.Config.DeepCopy(), tree: img.Tree, ns: epoch}
	for _, h := range img.Config.RootFS.DiffIDs {
		s.layers = append(s.layers, h.String())
	}
	if created := img.Config.Created.Time; !created.IsZero() && created.UnixNano() > s.ns {
		s.ns = created.UnixNano()
	}
	s.config = v1.ConfigFile{Architecture: "amd64", OS: "linux", Author: s.config.Author, Config: s.config.Config}
	if _, ok := get(s.config.Config.Env, "PATH"); !ok {
		s.config.Config.Env = append(s.config.Config.Env, "PATH="+defaultPath)
	}
	w.images[name] = s
	return s, nil
}

// triggers are a stage's instructions, behind those that its image has kept for it by ONBUILD.
func (w *work) triggers(i int, s *state, do bool) ([]instructions.Command, error) {
	st := &w.file.stages[i]
	kept := s.config.Config.OnBuild
	s.config.Config.OnBuild = nil
	var all []instructions.Command
	for _, line := range kept {
		ast, err := parser.Parse(strings.NewReader(line))
		if err != nil || len(ast.AST.Children) != 1 {
			return nil, w.file.errorAt(st.Location, "", "ONBUILD %s of the image %s cannot be parsed", line, st.BaseName)
		}
		c, err := instructions.ParseCommand(ast.AST.Children[0])
		if err != nil {
			return nil, w.file.errorAt(st.Location, "", "ONBUILD %s of the image %s: %v", line, st.BaseName, err)
		}
		all = append(all, c)
	}
	own, err := w.file.commands(i, do)
	return append(all, own...), err
}

// steps executes the steps of a stage.
type steps struct {
	*work
	number int // of the stage
	state  *state
	do     bool
	hasCmd bool // this stage has set it
}

// env are the variables of an instruction, as NAME=value lines.
func (s *steps) env() []string {
	env := slices.Clone(s.state.args)
	places := map[string]int{}
	for i, line := range env {
		name, _, _ := strings.Cut(line, "=")
		places[name] = i
	}
	for _, line := range s.state.config.Config.Env {
		name, value, _ := strings.Cut(line, "=")
		i, ok := places[name]
		if !ok {
			i = len(env)
			places[name], env = i, append(env, "")
		}
		env[i] = name + "=" + value
	}
	return env
}

func (s *steps) expand(c instructions.Command) error {
	env := s.scope(s.env())
	one := func(word string) (string, error) { return s.word(word, env) }
	if e, ok := c.(instructions.SupportsSingleWordExpansion); ok {
		if err := e.Expand(one); err != nil {
			return err
		}
	}
	if e, ok := c.(instructions.SupportsSingleWordExpansionRaw); ok {
		lex := *s.file.lex
		lex.RawQuotes, lex.RawEscapes, lex.SkipProcessQuotes = true, false, true
		return e.ExpandRaw(func(word string) (string, error) {
			was := s.file.lex
			s.file.lex = &lex
			defer func() { s.file.lex = was }()
			return s.word(word, env)
		})
	}
	return nil
}

// step does one instruction.
func (s *steps) step(c instructions.Command) error {
	err := s.expand(c)
	if err == nil {
		err = s.instruction(c)
	}
	if err != nil {
		return s.explain(err, c.Location(), strings.ToUpper(c.Name()))
	}
	return nil
}

func (s *steps) instruction(c instructions.Command) error {
	config := &s.state.config.Config
	switch c := c.(type) {
	case *instructions.ArgCommand:
		meta, err := s.metaArgs()
		if err != nil {
			return err
		}
		for _, a := range c.Args {
			if v, ok := s.argument(a, meta); ok {
				s.state.args = set(s.state.args, a.Key, v)
			}
		}
		return checkVariables(s.state.args, config.Env)
	case *instructions.EnvCommand:
		for _, kv := range c.Env {
			config.Env = set(config.Env, kv.Key, kv.Value)
		}
		return checkVariables(s.state.args, config.Env)
	case *instructions.LabelCommand:
		if config.Labels == nil {
			config.Labels = map[string]string{}
		}
		for _, kv := range c.Labels {
			config.Labels[kv.Key] = kv.Value
		}
	case *instructions.MaintainerCommand:
		s.state.config.Author = c.Maintainer
	case *instructions.UserCommand:
		config.User = c.User
	case *instructions.WorkdirCommand:
		return s.workdir(c)
	case *instructions.ExposeCommand:
		return s.expose(c)
	case *instructions.VolumeCommand:
		for _, v := range c.Volumes {
			if v == "" {
				return &Error{Text: "VOLUME has an empty path"}
			}
			if config.Volumes == nil {
				config.Volumes = map[string]struct{}{}
			}
			config.Volumes[v] = struct{}{}
		}
	case *instructions.CmdCommand:
		config.Cmd, config.ArgsEscaped, s.hasCmd = s.argv(c.ShellDependantCmdLine), false, true
	case *instructions.EntrypointCommand:
		config.Entrypoint = s.argv(c.ShellDependantCmdLine)
		if !s.hasCmd {
			config.Cmd = nil
		}
	case *instructions.ShellCommand:
		config.Shell = c.Shell
	case *instructions.StopSignalCommand:
		config.StopSignal = c.Signal
	case *instructions.HealthCheckCommand:
		h := c.Health
		if h.StartInterval != 0 && s.do {
			s.report("note: %s: HEALTHCHECK --start-interval has no effect here", s.place(c))
		}
		config.Healthcheck = &v1.HealthConfig{Test: h.Test, Interval: h.Interval, Timeout: h.Timeout, StartPeriod: h.StartPeriod, Retries: h.Retries}
	case *instructions.OnbuildCommand:
		config.OnBuild = append(config.OnBuild, c.Expression)
	case *instructions.CopyCommand:
		return s.copy(c)
	case *instructions.AddCommand:
		return s.add(c)
	case *instructions.RunCommand:
		return s.run(c)
	default:
		return &Error{Text: fmt.Sprintf("%s is not supported", strings.ToUpper(c.Name())),
			Remedy: "build the image with `docker build`, and set it in `nodes:`"}
	}
	return nil
}

// argv is the command of an instruction in either form.
func (s *steps) argv(l instructions.ShellDependantCmdLine) []string {
	if !l.PrependShell {
		return l.CmdLine
	}
	shell := s.state.config.Config.Shell
	if len(shell) == 0 {
		shell = []string{"/bin/sh", "-c"}
	}
	return append(slices.Clone(shell), strings.Join(l.CmdLine, " "))
}

func (s *steps) place(c instructions.Command) string {
	line := 0
	if at := c.Location(); len(at) > 0 {
		line = at[0].Start.Line
	}
	return fmt.Sprintf("%s:%d", s.file.name, line)
}

// inImage is a path relative to the working directory, as an absolute one.
func (s *steps) inImage(p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join("/", s.state.config.Config.WorkingDir, p)
}

func (s *steps) workdir(c *instructions.WorkdirCommand) error {
	dir := s.inImage(c.Path)
	s.state.config.Config.WorkingDir = dir
	if dir == "/" {
		return nil
	}
	user := s.state.config.Config.User
	return s.effect(c, []string{"WORKDIR", dir, user}, func(l *layer) error {
		owner, err := s.owner(user)
		if err != nil {
			return err
		}
		_, err = l.folder(dir, owner)
		return err
	})
}

// portSpec is a port, or a range of them, with a protocol.
var portSpec = lazyregexp.New(`^(\d+)(?:-(\d+))?(?:/(\w+))?$`)

func (s *steps) expose(c *instructions.ExposeCommand) error {
	config := &s.state.config.Config
	env := s.scope(s.env())
	for _, word := range c.Ports {
		words, err := s.words(word, env)
		if err != nil {
			return err
		}
		for _, p := range words {
			if i := strings.LastIndexByte(p, ':'); i >= 0 { // the port outside means nothing to an image
				p = p[i+1:]
			}
			m := portSpec.FindStringSubmatch(p)
			if m == nil {
				return &Error{Text: fmt.Sprintf("EXPOSE %s is not a port", p), Remedy: "write a port such as 8080 or 53/udp"}
			}
			first, _ := strconv.Atoi(m[1])
			last, _ := strconv.Atoi(cmp.Or(m[2], m[1]))
			if first < 1 || last > 65535 || first > last {
				return &Error{Text: fmt.Sprintf("EXPOSE %s is not a port", p), Remedy: "use ports from 1 to 65535"}
			}
			if s.exposed += last - first + 1; s.exposed > maxPorts {
				return &Error{Text: fmt.Sprintf("EXPOSE lists more than %d ports, the limit", maxPorts),
					Remedy: "list only the ports the image's program listens on"}
			}
			if config.ExposedPorts == nil {
				config.ExposedPorts = map[string]struct{}{}
			}
			for n := first; n <= last; n++ {
				config.ExposedPorts[fmt.Sprintf("%d/%s", n, strings.ToLower(cmp.Or(m[3], "tcp")))] = struct{}{}
			}
		}
	}
	return nil
}

// record is the store's record of a step.
type record struct {
	Ns     int64
	Caches []cached
}

// effect does what changes files: inputs are all that the change depends on, besides the files before it.
func (s *steps) effect(c instructions.Command, inputs []string, change func(*layer) error) error {
	before := s.state
	key := digest(append([]string{before.key}, inputs...)...)
	before.key = key
	if !s.do {
		return nil
	}
	if len(before.layers) >= image.MaxLayers {
		text := fmt.Sprintf("the image already has %d layers, the limit", image.MaxLayers)
		return &Error{Text: text, Remedy: "combine instructions, or copy files from another stage"}
	}
	if !s.uncached() && s.recall(key) {
		return nil
	}
	began := time.Now()
	l := &layer{steps: s, before: before, ns: max(before.ns, epoch), caches: before.caches}
	diff, err := l.write(change)
	if err != nil {
		return err
	}
	before.layers, before.ns, before.caches, before.tree = append(before.layers, diff), l.ns, l.caches, nil
	b, err := json.Marshal(record{before.ns, before.caches})
	if err != nil {
		return err
	}
	if err := s.Store.Build(key, append([]byte(diff+"\n"), b...)); err != nil {
		return err
	}
	s.report("%s: %s (%.1f s)", s.place(c), title(c), time.Since(began).Seconds())
	return nil
}

// uncached reports whether the steps of a stage are done in any case.
func (s *steps) uncached() bool {
	return s.request.NoCache || slices.ContainsFunc(s.request.Uncached, func(name string) bool { return s.file.find(name, len(s.file.stages)) == s.number })
}

// recall takes what a step has led to from the store, if it is whole there.
func (s *steps) recall(key string) bool {
	b, err := s.Store.Built(key)
	if err != nil {
		return false
	}
	diff, rest, ok := strings.Cut(string(b), "\n")
	var r record
	if !ok || json.Unmarshal([]byte(rest), &r) != nil {
		return false
	}
	if _, err := s.Store.Layer(s.ctx, diff); err != nil {
		return false
	}
	for _, c := range r.Caches {
		if _, err := s.Store.Layer(s.ctx, c.Diff); err != nil {
			return false
		}
	}
	s.state.layers, s.state.ns, s.state.caches, s.state.tree = append(s.state.layers, diff), r.Ns, r.Caches, nil
	return true
}

// title is an instruction in one short line.
func title(c instructions.Command) string {
	line := strings.ToUpper(c.Name())
	if t, ok := c.(fmt.Stringer); ok {
		line = t.String()
	}
	line, _, _ = strings.Cut(line, "\n")
	const most = 100
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}
