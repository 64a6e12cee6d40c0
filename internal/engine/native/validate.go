//go:build linux && amd64

package native

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Validate lays out each node of a Spec and looks in its tree for the programs, folders and users that the Spec names.
// Nothing runs.
func (e *Engine) Validate(spec *world.Spec, o engine.Options) error {
	var all engine.Mistakes
	for i := range spec.Nodes {
		x := &inspection{World: &World{spec: spec, options: o, real: &host.Checkpoint{Tracer: &host.Tracer{}}}, n: &spec.Nodes[i]}
		err := x.node()
		if err == nil && len(x.mistakes) == 0 {
			x.guests(i)
		}
		x.real.Close()
		if err != nil {
			return fmt.Errorf("node %s: %w", x.n.Name, err)
		}
		all = append(all, x.mistakes...)
	}
	if all = append(all, e.ValidateRules(spec)...); len(all) > 0 {
		return all
	}
	return nil
}

// ValidateRules finds the rules of faults that name system calls at which a world never injects.
func (*Engine) ValidateRules(spec *world.Spec) (all engine.Mistakes) {
	for i := range spec.Faults.Rules {
		all = append(all, atCalls(&spec.Faults.Rules[i])...)
	}
	return all
}

// atCalls finds the system calls at which a rule can never inject.
func atCalls(r *world.FaultRule) (all engine.Mistakes) {
	wrong := func(remedy, problem string, args ...any) {
		all = append(all, engine.Mistake{Part: engine.PartFault, Name: strings.Join(r.At, ","), Problem: fmt.Sprintf(problem, args...), Remedy: remedy})
	}
	look := func(calls []string, pattern string, moment world.Moment) {
		for _, call := range calls {
			if why := linux.Unwatched(call); why != "" {
				wrong("give a call as strace shows it, such as fsync", "a rule cannot inject at %q: %s", call, why)
			} else if why := linux.Unreturned(call); why != "" && moment != world.Entering {
				wrong("use `at`, or choose another call", "a rule cannot inject after %q: %s", call, why)
			} else if pattern != "" && !linux.AboutFiles(call) {
				wrong("leave out the file pattern, or choose calls on files, such as fsync",
					"%s is not a call on a file with a known name, so nothing matches %q", call, pattern)
			}
		}
	}
	look(r.At, r.Path, r.Moment)
	look(r.Then, r.ThenPath, world.Entering)
	return all
}

// inspection looks at one node, in a world of its own.
type inspection struct {
	*World
	n        *world.Node
	cred     kernel.Cred
	dir      fs.InodeID // the working directory
	mistakes engine.Mistakes
}

func (x *inspection) found(part engine.Part, name, remedy, problem string, args ...any) {
	m := engine.Mistake{Node: x.n.Name, Part: part, Name: name, Problem: fmt.Sprintf(problem, args...), Remedy: remedy}
	if part == engine.PartWorkload || part == engine.PartProperty {
		m.Node = ""
	}
	x.mistakes = append(x.mistakes, m)
}

// node looks at what a node needs to start. Its error is one of the machine.
func (x *inspection) node() error {
	if !x.sources() {
		return nil
	}
	x.real.Blobs = host.NewBlobs(nil)
	x.kernel = kernel.New(nil, tape.NewSource(tape.Tape{}), kernel.Handles{Blobs: x.real.Blobs}, linux.NewSystem())
	x.kernel.Net = x.network()
	err := x.share([]world.Node{*x.n})
	if err == nil {
		err = x.addNode(x.n)
	}
	var misplaced *layoutError
	if errors.As(err, &misplaced) {
		x.found(engine.PartVolume, "", "mount at a path whose parents are folders, outside /proc and /sys", "%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	if x.cred, err = x.credentials(0, x.n); err != nil {
		x.found(engine.PartUser, "", "choose one that exists, or write numbers, such as 1000:1000", "%v", err)
		return nil
	}
	if !x.workingDir() {
		return nil
	}
	if len(x.n.Command) > 0 {
		x.program(engine.PartCommand, "", x.n.Command[0], x.n.Env)
	}
	for _, command := range x.n.Releases {
		x.program(engine.PartCommand, "", command[0], x.n.Env)
	}
	if len(x.n.Replacement) > 0 {
		x.program(engine.PartCommand, "", x.n.Replacement[0], x.n.Env)
	}
	if x.n.Health != nil {
		x.guest(engine.PartHealthcheck, "", x.n.Health.Command, nil)
	}
	for i, h := range x.n.PostStart {
		x.guest(engine.PartPostStart, strconv.Itoa(i), h.Command, h.Env)
	}
	return nil
}

// sources looks for the folders of the machine that the node is made of.
func (x *inspection) sources() bool {
	if root := x.n.Root; root != world.NoRoot && !x.n.HasMachineFiles() && x.n.Image == nil {
		if info, err := os.Stat(root); err != nil {
			x.found(engine.PartRoot, "", "create the folder, or choose another; `root: host` gives the node this "+
				"machine's files", "%v", plain(err, root))
		} else if !info.IsDir() {
			x.found(engine.PartRoot, "", "choose a folder that holds the node's files", "%s is not a folder", root)
		}
	}
	for _, v := range x.n.Volumes {
		if v.Kind != world.Bind {
			continue
		}
		if _, err := os.Stat(v.Source); err != nil {
			x.found(engine.PartVolume, v.Target,
				"create it, or choose another source; a volume name, without a slash, starts as an empty "+
					"folder", "%v", plain(err, v.Source))
		}
	}
	return len(x.mistakes) == 0
}

// plain says what is wrong with a path, without the call that reported it.
func plain(err error, name string) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is not there", name)
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func (x *inspection) tree() *fs.State { return x.kernel.Nodes[0].FS }

func (x *inspection) env(c kernel.Cred) *fs.Env {
	env := *x.kernel.TreeEnv(x.kernel.Nodes[0])
	env.Cred = fs.Cred{UID: c.FSUID, GID: c.FSGID, Groups: c.Groups}
	return &env
}

func (x *inspection) workingDir() bool {
	dir := x.n.WorkingDir
	if dir == "" {
		dir = "/"
	}
	p, e := x.tree().Walk(x.env(kernel.Cred{}), x.tree().Root(), dir, true)
	switch {
	case e == errno.ENOENT:
		remedy := "create the folder, or choose another with `working_dir:`"
		if x.n.HasMachineFiles() && isThere(dir) {
			remedy = x.unseen(dir)
		}
		x.found(engine.PartWorkingDir, "", remedy, "the folder %s does not exist", dir)
		return false
	case e != errno.OK:
		x.found(engine.PartWorkingDir, "", "choose another folder with `working_dir:`", "%s: %v", dir, unix.Errno(e))
		return false
	case p.Inode == 0 || x.tree().Get(p.Inode).Mode&unix.S_IFMT != unix.S_IFDIR:
		x.found(engine.PartWorkingDir, "", "choose a folder with `working_dir:`", "%s is not a folder", dir)
		return false
	}
	x.dir = p.Inode
	return true
}

func isThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// unseen is the remedy for what this machine has and the node has not.
func (x *inspection) unseen(name string) string {
	if dir, ok := world.Emptied(name); ok && !below(name, x.spec.Dir) {
		remedy := "put it into the project's folder"
		if len(x.n.Command) > 0 {
			remedy = fmt.Sprintf("mount it with `volumes: [%s:%s]`", name, name)
		}
		return fmt.Sprintf("it exists on this machine, but %s starts empty on every node: %s", dir, remedy)
	}
	return "it exists on this machine, but nodes see only bin of a .bloodhound folder, and nothing else that " +
		"Bloodhound writes (`bloodhound docs cli`, \"Files\"): put it elsewhere"
}

// guests looks for the programs that run on the i-th node besides its own: drivers and checks.
func (x *inspection) guests(i int) {
	for _, l := range x.spec.Workloads {
		if l.Driver == "command" && int(x.nodeID(l.Node)) == i {
			x.guest(engine.PartWorkload, l.Name, l.Command, l.Env)
		}
	}
	for _, p := range x.spec.Properties {
		if len(p.Check.Script) > 0 && director.Checker(x.spec) == i {
			x.guest(engine.PartProperty, p.Name, p.Check.Script, nil)
		}
	}
}

// guest looks for a program that runs beside the node's own. Where there is one, it may yet make a file that is
// named by its path.
func (x *inspection) guest(part engine.Part, name string, argv, env []string) {
	if len(argv) == 0 || len(x.n.Command) > 0 && strings.Contains(argv[0], "/") {
		return
	}
	x.program(part, name, argv[0], append(slices.Clone(x.n.Env), env...))
}

// program looks for a program as the kernel does at its start, and says why it would not start.
func (x *inspection) program(part engine.Part, name, program string, env []string) {
	if strings.Contains(program, "/") {
		if problem, remedy := x.executable(program); problem != "" {
			x.found(part, name, remedy, "%s", problem)
		}
		return
	}
	list := ""
	for _, kv := range x.environment(x.n, env) {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			list = v
		}
	}
	forbidden := ""
	for _, dir := range strings.Split(list, ":") {
		file := dir + "/" + program
		switch e := x.access(file); e {
		case errno.OK:
			if problem, remedy := x.executable(file); problem != "" {
				x.found(part, name, remedy, "%s", problem)
			}
			return
		case errno.EACCES:
			forbidden = file
		}
	}
	if forbidden != "" {
		problem, remedy := x.executable(forbidden)
		x.found(part, name, remedy, "%s", problem)
		return
	}
	where := "the node's PATH"
	if x.n.Image != nil {
		where += " in image " + x.n.Image.Name
	}
	problem := fmt.Sprintf("there is no program %q in %s (%s)", program, where, list)
	remedy := "give its path, or add its folder to PATH in the node's `environment:`"
	switch own, err := exec.LookPath(program); {
	case x.n.Image == nil && x.n.Root == world.NoRoot:
		remedy = "a node with `root: none` has no programs: mount one with `volumes:` and give its path, or use `root: host`, this machine's files"
	case err != nil || !x.n.HasMachineFiles():
	case x.access(own) == errno.OK:
		problem += fmt.Sprintf("; your own PATH has it at %s", own)
		remedy = fmt.Sprintf("write %s, or add %s to PATH in the node's `environment:`; a node does not get your PATH", own, path.Dir(own))
	default:
		problem += fmt.Sprintf("; your own PATH has it at %s", own)
		remedy = x.unseen(own)
	}
	x.found(part, name, remedy, "%s", problem)
}

// access reports whether a file can be executed, as far as its attributes go.
func (x *inspection) access(file string) errno.Errno {
	env := x.env(x.cred)
	p, e := x.tree().Walk(env, x.dir, file, true)
	if e != errno.OK {
		return e
	}
	if in := x.tree().Get(p.Inode); in == nil || in.Mode&unix.S_IFMT != unix.S_IFREG || in.Synth != "" {
		return errno.EACCES
	}
	return x.tree().Access(env, p.Inode, fs.X_OK)
}

// executable says why a file cannot be executed, and what to do about it; nothing if it can be.
func (x *inspection) executable(file string) (problem, remedy string) {
	env := x.env(x.cred)
	p, e := x.tree().Walk(env, x.dir, file, true)
	in := x.tree().Get(p.Inode)
	switch {
	case e == errno.ENOENT:
		full := file
		if !path.IsAbs(file) {
			full = path.Join(x.tree().Name(x.dir), file)
		}
		problem, remedy = "there is no program "+full, "build it first, as a step of `build:` does, or correct the path"
		switch {
		case x.n.Image != nil:
			problem += " in image " + x.n.Image.Name
			remedy = "see what is in the image under " + path.Dir(full) + ", and correct the path, or use an image that has the program"
			if there := x.elsewhere(path.Base(full)); there != "" {
				problem += ", which has " + there
				remedy = "write " + there
			}
		case x.n.Root == world.NoRoot:
			problem += " on a node with `root: none`"
			remedy = "mount its folder with `volumes:`, or use `root: host`, this machine's files"
		case !x.n.HasMachineFiles():
			problem += " in " + x.n.Root
		case isThere(full):
			remedy = x.unseen(full)
		}
		return problem, remedy
	case e != errno.OK:
		return fmt.Sprintf("%s: %v", file, unix.Errno(e)), "correct the path, or the rights of its folders"
	case in == nil || in.Mode&unix.S_IFMT != unix.S_IFREG || in.Synth != "":
		return file + " is not a file", "name the program itself"
	case x.tree().Access(env, p.Inode, fs.X_OK) != errno.OK:
		return file + " is not executable" + x.byUser(), "chmod +x " + file
	}
	head := make([]byte, 256)
	n, e := x.tree().ReadAt(env, p.Inode, head, 0)
	if e != errno.OK {
		return fmt.Sprintf("%s cannot be read by you: %v", file, unix.Errno(e)), "chmod +r " + file
	}
	return x.format(file, string(head[:n]))
}

// elsewhere is where a program of a name is in the folders of the default PATH; nothing if it is in none.
func (x *inspection) elsewhere(name string) string {
	for _, dir := range strings.Split(defaultPath, ":") {
		if file := dir + "/" + name; x.access(file) == errno.OK {
			return file
		}
	}
	return ""
}

func (x *inspection) byUser() string {
	if x.n.User == "" {
		return ""
	}
	return " by user " + x.n.User
}

// format looks at the first bytes of a program: ELF for x86-64, or a script.
func (x *inspection) format(file, head string) (problem, remedy string) {
	if line, ok := strings.CutPrefix(head, "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		interpreter := ""
		if words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }); len(words) > 0 {
			interpreter = words[0]
		}
		switch {
		case strings.HasSuffix(interpreter, "\r"):
			return file + " has Windows line ends: its #! line ends with a carriage return", "write it with Unix line ends, as dos2unix does"
		case interpreter == "" || x.access(interpreter) != errno.OK:
			remedy = "use an interpreter that exists on the node, such as #!/bin/sh"
			if x.n.HasMachineFiles() && x.covered(x.n, interpreter) != "" && isThere(interpreter) {
				remedy = x.unseen(interpreter)
			}
			return fmt.Sprintf("the #! line of %s asks for %q, which is not a program on the "+
				"node", file, interpreter), remedy
		}
		return "", ""
	}
	const class64, x8664 = 2, 62 // e_ident[EI_CLASS] and e_machine (elf(5))
	switch {
	case !strings.HasPrefix(head, "\x7fELF"):
		return file + " is neither a program nor a script with a #! line", "begin a script with #!/bin/sh, or run it as `sh " + file + "`"
	case len(head) < 20 || head[4] != class64 || head[18] != x8664 || head[19] != 0:
		return file + " is a program for a machine other than x86-64", "build it for linux/amd64"
	}
	return "", ""
}
