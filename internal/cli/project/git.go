package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Git runs git in a folder and returns its output without the trailing newline, or nothing if it fails.
func Git(ctx context.Context, dir string, args ...string) string {
	out, err := GitOutput(ctx, dir, args...)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// GitOutput returns the output of git in a folder. Git refuses a repository of another owner, since the configuration of a repository can
// make it execute commands. Such a repository is read through a git directory of our own, without its configuration and hooks.
func GitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := GitAsOwner(ctx, dir, args...)
	if err != nil && reads(args) && OfAnotherOwner(ctx, dir) {
		return gitAsStranger(ctx, dir, args...)
	}
	return out, err
}

// OfAnotherOwner reports whether git refuses the repository of a folder for its owner. Not each command says that this is why it fails.
func OfAnotherOwner(ctx context.Context, dir string) bool {
	_, err := GitAsOwner(ctx, dir, "rev-parse", "--git-dir")
	refused := (*gitError)(nil)
	return errors.As(err, &refused) && refused.owner()
}

// GitAsOwner returns the output of git in a folder, under the repository's configuration.
func GitAsOwner(ctx context.Context, dir string, args ...string) (string, error) {
	return runGit(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...))
}

// runGit gives what a command of git prints. The error has what it says.
func runGit(c *exec.Cmd) (string, error) {
	var said bytes.Buffer
	c.Stderr = &said
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Env = append(c.Env, "LC_ALL=C")
	out, err := c.Output()
	if err == nil {
		return string(out), nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("git is not installed")
	}
	return "", &gitError{said.String(), err}
}

// gitError is a failure of git.
type gitError struct {
	said string
	err  error
}

func (e *gitError) Unwrap() error { return e.err }

// Error is the first line of what git said.
func (e *gitError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.said), "\n")
	if line == "" {
		return e.err.Error()
	}
	return line
}

// owner reports whether git refuses the repository for its owner: it then names the setting that allows it.
func (e *gitError) owner() bool { return strings.Contains(e.said, "safe.directory") }

// unborn reports whether the repository has no commit yet.
func (e *gitError) unborn() bool { return strings.Contains(e.said, "Needed a single revision") }

// readers are commands of git that only read. The others would write into the directory of our own.
var readers = []string{"rev-parse", "symbolic-ref", "log", "describe", "diff", "status", "rev-list", "merge-base", "ls-files"}

// reads reports whether arguments of git are a command that only reads. Options with a value (-c NAME=VALUE) may precede it.
func reads(args []string) bool {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return len(args) > 0 && slices.Contains(readers, args[0])
}

// Bounds of what is read of a repository of another owner.
const (
	maxReferenceBytes = 4 << 10
	maxConfigBytes    = 1 << 20
	maxIndexBytes     = 256 << 20
	strangerTime      = 30 * time.Second // a file of it may be a pipe, on which git waits
)

// gitAsStranger gives what git prints about a repository of another owner. Its objects, references and index are data; its configuration,
// hooks and the configuration of its submodules are left out.
func gitAsStranger(ctx context.Context, dir string, args ...string) (string, error) {
	top, own, err := strangersRepository(dir)
	if err != nil {
		return "", err
	}
	made, err := os.MkdirTemp("", "bloodhound-git-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	if err := own.link(made); err != nil {
		return "", fmt.Errorf("cannot read the repository %s, which belongs to another user: %w", top, err)
	}
	ctx, cancel := context.WithTimeout(ctx, strangerTime)
	defer cancel()
	c := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	c.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GIT_") })
	c.Env = append(c.Env, "GIT_DIR="+made, "GIT_WORK_TREE="+top, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat")
	return runGit(c)
}

// gitFolders are the parts of a repository: the folder of a worktree's own state, and the one that all worktrees share.
type gitFolders struct{ own, common string }

// strangersRepository finds the repository that a folder lies in, as git does.
func strangersRepository(dir string) (top string, g gitFolders, err error) {
	if top, err = filepath.Abs(dir); err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		return "", g, err
	}
	for ; ; top = filepath.Dir(top) {
		g.own = filepath.Join(top, ".git")
		info, err := os.Stat(g.own)
		switch {
		case err == nil && info.IsDir():
			g.common = g.own
			return top, g, nil
		case err == nil: // of a worktree or a submodule
			if g.own, err = pointed(top, g.own, "gitdir: "); err != nil {
				return "", g, err
			}
			g.common, err = pointed(g.own, filepath.Join(g.own, "commondir"), "")
			if errors.Is(err, os.ErrNotExist) {
				g.common, err = g.own, nil
			}
			return top, g, err
		case top == filepath.Dir(top):
			return "", g, fmt.Errorf("%s is not in a git repository", dir)
		}
	}
}

// pointed is the folder that a file names after some words, from another folder on.
func pointed(from, file, words string) (string, error) {
	text, err := regular.Read(file, maxReferenceBytes)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), words)
	if !ok || path == "" {
		return "", fmt.Errorf("%s does not name a git directory", file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return path, nil
}

// headForm matches the content of HEAD: a reference, or the digest of a commit.
var headForm = regexp.MustCompile(`^(ref: refs/[^\x00-\x20]+|[0-9a-f]{40}|[0-9a-f]{64})$`)

// link makes a git directory with the objects and references of a repository, and a configuration of our own.
func (g gitFolders) link(made string) error {
	head, err := regular.Read(filepath.Join(g.own, "HEAD"), maxReferenceBytes)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(head))
	if !headForm.MatchString(text) {
		return errors.New("its HEAD has an unknown form")
	}
	config, err := g.config()
	if err == nil {
		err = os.WriteFile(filepath.Join(made, "HEAD"), []byte(text+"\n"), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(made, "config"), []byte(config), 0o600)
	}
	if err != nil {
		return err
	}
	// The index is a copy: git writes what it learns of files into it.
	index, err := regular.Read(filepath.Join(g.own, "index"), maxIndexBytes)
	if err == nil {
		err = os.WriteFile(filepath.Join(made, "index"), index, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	links := map[string]string{}
	for _, name := range []string{"objects", "refs", "packed-refs", "shallow"} {
		links[name] = filepath.Join(g.common, name)
	}
	shared, _ := filepath.Glob(filepath.Join(g.own, "sharedindex.*"))
	for _, file := range shared {
		links[filepath.Base(file)] = file
	}
	for name, target := range links {
		if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) && name != "objects" && name != "refs" {
			continue
		} else if err != nil {
			return err
		}
		if err := os.Symlink(target, filepath.Join(made, name)); err != nil {
			return err
		}
	}
	return nil
}

// Settings of a repository without which it cannot be read.
var (
	reftableForm = regexp.MustCompile(`(?im)^\s*refstorage\s*=\s*"?reftable`)
	sha256Form   = regexp.MustCompile(`(?im)^\s*objectformat\s*=\s*"?sha256`)
)

// config configures a git directory of our own. It copies only the format of objects and references from the repository's configuration.
func (g gitFolders) config() (string, error) {
	theirs, err := regular.Read(filepath.Join(g.common, "config"), maxConfigBytes)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if reftableForm.Match(theirs) {
		return "", errors.New("its references are stored as a reftable")
	}
	format := "repositoryformatversion = 0\n"
	extension := ""
	if sha256Form.Match(theirs) {
		format, extension = "repositoryformatversion = 1\n", "[extensions]\n\tobjectformat = sha256\n"
	}
	return "[core]\n\t" + format + "\tbare = false\n\tfsmonitor = false\n\thooksPath = /dev/null\n[diff]\n\tignoreSubmodules = all\n" + extension, nil
}

// NoCommit says why the commit of a folder cannot be told, although it lies in a repository; empty if it can, or if there is none.
func NoCommit(ctx context.Context, dir string) string {
	if _, _, err := strangersRepository(dir); err != nil {
		return ""
	}
	_, err := GitOutput(ctx, dir, "rev-parse", "--verify", "HEAD")
	if failure := (*gitError)(nil); err == nil || errors.As(err, &failure) && failure.unborn() {
		return ""
	}
	return fmt.Sprintf("note: the commit of %s is not recorded: %v", dir, err)
}
