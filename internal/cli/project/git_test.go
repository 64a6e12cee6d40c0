package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// repository is a repository for tests, of which commands fail the test if they fail.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T, options ...string) repository {
	t.Helper()
	r := repository{t, filepath.Join(t.TempDir(), "repository")}
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, options...)...)
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-C", r.dir, "-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o777); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) commit(text string) {
	r.t.Helper()
	r.write("file", text)
	r.git("add", "file")
	r.git("commit", "-q", "-m", text)
}

// asked lists the commands of git by which the project finds its provenance and the code that has changed.
var asked = [][]string{
	{"rev-parse", "HEAD"}, {"rev-parse", "--verify", "HEAD"}, {"rev-parse", "--show-toplevel"}, {"symbolic-ref", "--short", "-q", "HEAD"},
	{"log", "-1", "--format=%s"}, {"log", "-1", "--format=%ct"}, {"describe", "--exact-match", "--tags", "HEAD"},
	{"diff", "HEAD"}, {"status", "--porcelain", "--untracked-files=no"}, {"rev-list", "--parents", "--max-count", "10", "HEAD"},
	{"rev-parse", "--verify", "--quiet", "--end-of-options", "main^{commit}"}, {"rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD~1^{commit}"},
	{"ls-files", "--others", "--exclude-standard", "-z"},
	{"-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-prefix", "-U0", "--end-of-options", "HEAD", "--"},
}

// anotherOwner makes git take the owner of each repository for another one (a variable of its own tests).
func anotherOwner(t *testing.T) {
	t.Helper()
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
}

// A repository of another owner gives the same answers as one of the own, whatever form it has.
func TestRepositoryOfAnotherOwner(t *testing.T) {
	needs.Program(t, "git")
	for name, makes := range map[string]func(t *testing.T) string{
		"plain": func(t *testing.T) string {
			r := newRepository(t)
			r.commit("first")
			r.commit("second")
			return r.dir
		},
		"a folder of it": func(t *testing.T) string {
			r := newRepository(t)
			r.commit("first")
			r.commit("second")
			if err := os.Mkdir(filepath.Join(r.dir, "below"), 0o777); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(r.dir, "below")
		},
		"changed, with a file more": func(t *testing.T) string {
			r := newRepository(t)
			r.commit("first")
			r.commit("second")
			r.write("file", "third")
			r.write("more", "")
			return r.dir
		},
		"detached at a tag, packed": func(t *testing.T) string {
			r := newRepository(t)
			r.commit("first")
			r.commit("second")
			r.git("tag", "-a", "v1", "-m", "v1")
			r.git("checkout", "-q", "v1")
			r.git("gc", "-q")
			return r.dir
		},
		"a worktree": func(t *testing.T) string {
			r := newRepository(t)
			r.commit("first")
			r.commit("second")
			r.git("worktree", "add", "-q", "../tree", "-b", "other")
			tree := repository{t, filepath.Join(filepath.Dir(r.dir), "tree")}
			tree.commit("third")
			return tree.dir
		},
		"with a split index and a submodule": func(t *testing.T) string {
			inner, r := newRepository(t), newRepository(t)
			inner.commit("inner")
			r.commit("first")
			r.git("submodule", "add", "-q", inner.dir, "inner")
			r.git("commit", "-q", "-m", "with inner")
			r.git("update-index", "--split-index")
			return r.dir
		},
		"shallow": func(t *testing.T) string {
			from, r := newRepository(t), newRepository(t)
			from.commit("first")
			from.commit("second")
			from.commit("third")
			r.git("fetch", "-q", "--depth", "2", "file://"+from.dir, "main")
			r.git("checkout", "-q", "-B", "main", "FETCH_HEAD")
			return r.dir
		},
		"SHA-256": func(t *testing.T) string {
			r := newRepository(t, "--object-format=sha256")
			r.commit("first")
			r.commit("second")
			return r.dir
		},
		"without a commit": func(t *testing.T) string { return newRepository(t).dir },
	} {
		t.Run(name, func(t *testing.T) {
			dir := makes(t)
			want := map[string]string{}
			for _, args := range asked {
				want[strings.Join(args, " ")] = Git(t.Context(), dir, args...)
			}
			if name != "without a commit" && len(want["rev-parse HEAD"]) < 40 {
				t.Fatalf("no commit: %q", want)
			}
			anotherOwner(t)
			if out, err := GitAsOwner(t.Context(), dir, "rev-parse", "HEAD"); err == nil {
				t.Fatalf("git takes the repository: %s", out)
			}
			for _, args := range asked {
				if got := Git(t.Context(), dir, args...); got != want[strings.Join(args, " ")] {
					_, err := GitOutput(t.Context(), dir, args...)
					t.Errorf("git %q: %q, want %q (%v)", args, got, want[strings.Join(args, " ")], err)
				}
			}
			if why := NoCommit(t.Context(), dir); why != "" {
				t.Error(why)
			}
		})
	}
}

// Nothing that the configuration or the attributes of a repository of another owner name is executed, and nothing of it is written.
func TestRepositoryOfAnotherOwnerExecutesNothing(t *testing.T) {
	needs.Program(t, "git")
	r := newRepository(t)
	r.write(".gitattributes", "file filter=trap diff=trap\n")
	r.git("add", ".gitattributes")
	r.commit("first")
	r.commit("second")
	marker := filepath.Join(t.TempDir(), "executed")
	trap := filepath.Join(r.dir, ".git", "trap")
	r.write(".git/trap", "#!/bin/sh\necho \"$0 $*\" >>"+marker+"\ncat\n")
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"} {
		r.write(".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>"+marker+"\n")
	}
	for _, setting := range []string{"core.fsmonitor", "diff.external", "diff.trap.textconv", "diff.trap.command", "filter.trap.clean", "filter.trap.smudge",
		"gpg.program", "core.sshCommand", "core.pager", "pager.log", "pager.diff", "core.askPass", "core.editor"} {
		r.git("config", setting, trap)
	}
	for setting, value := range map[string]string{"log.showSignature": "true",
		"core.hooksPath": filepath.Join(r.dir, ".git", "hooks"), "alias.status": "!" + trap,
		"include.path": filepath.Join(r.dir, ".git", "trap"), "safe.directory": "*"} {
		if setting == "include.path" {
			continue // git itself would not read its configuration any more
		}
		r.git("config", setting, value)
	}
	r.write("file", "third")
	Git(t.Context(), r.dir, "diff", "HEAD")
	if text, err := os.ReadFile(marker); err != nil || len(text) == 0 {
		t.Fatalf("the traps do not work: %v", err)
	}
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, r.dir)
	anotherOwner(t)
	for _, args := range asked {
		Git(t.Context(), r.dir, args...)
	}
	if text, err := os.ReadFile(marker); err == nil {
		t.Errorf("executed: %s", text)
	}
	if head := HeadCommit(r.dir); len(head) < 40 || !strings.HasSuffix(head, WithChanges) {
		t.Errorf("commit %q", head)
	}
	if after := filesBelow(t, r.dir); after != before {
		t.Errorf("the repository was written to:\n%s\n%s", before, after)
	}
}

// filesBelow lists files with sizes and times.
func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		b.WriteString(path + " " + info.ModTime().String() + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A commit that cannot be read is reported. No repository, or none with a commit, is no reason to.
func TestNoCommit(t *testing.T) {
	needs.Program(t, "git")
	if why := NoCommit(t.Context(), t.TempDir()); why != "" {
		t.Error(why)
	}
	for name, spoil := range map[string]func(r repository){
		"HEAD of another form": func(r repository) { r.write(".git/HEAD", "ref: ../../etc/passwd\n") },
		"a reftable":           func(r repository) { r.git("config", "extensions.refstorage", "reftable") },
		"no objects": func(r repository) {
			if err := os.RemoveAll(filepath.Join(r.dir, ".git", "objects")); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		r := newRepository(t)
		r.commit("first")
		spoil(r)
		func() {
			t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
			defer os.Unsetenv("GIT_TEST_ASSUME_DIFFERENT_OWNER")
			if got := Git(t.Context(), r.dir, "rev-parse", "HEAD"); got != "" && got != "HEAD" {
				t.Errorf("%s: %q", name, got)
			}
			if why := NoCommit(t.Context(), r.dir); !strings.Contains(why, "the commit of "+r.dir+" is not recorded: ") {
				t.Errorf("%s: %q", name, why)
			}
		}()
	}
	t.Setenv("PATH", t.TempDir())
	r := repository{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(r.dir, ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	if why := NoCommit(t.Context(), r.dir); !strings.Contains(why, "git is not installed") {
		t.Error(why)
	}
}
