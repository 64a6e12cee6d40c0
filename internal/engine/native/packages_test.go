//go:build linux && amd64

package native_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// debianPackage is a line of testdata/packages/list.
type debianPackage struct {
	name    string
	command []string // executed in single steps, if there is one
}

func debianPackages(t *testing.T) (list []debianPackage) {
	t.Helper()
	text, err := os.ReadFile("testdata/packages/list")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, command, _ := strings.Cut(strings.TrimSpace(line), ": "); name != "" && name[0] != '#' {
			p := debianPackage{name: name}
			if command != "" {
				p.command = []string{"sh", "-c", "exec " + command}
			}
			list = append(list, p)
		}
	}
	return list
}

// files lists the ELF files of a package: those that are installed, or else those of the package as it is downloaded.
func (p debianPackage) files(t *testing.T, folder string) (list []string) {
	t.Helper()
	var names []string
	if out, err := exec.Command("dpkg", "-L", p.name).Output(); err == nil {
		names = strings.Fields(string(out))
	} else {
		unpacked := filepath.Join(folder, p.name)
		get := exec.Command("sh", "-c", `mkdir -p -m 755 "$1" && cd "$1" && apt-get -q download "$2" && dpkg-deb -x ./*.deb . && rm ./*.deb`,
			"sh", unpacked, p.name)
		if out, err := get.CombinedOutput(); err != nil {
			t.Fatalf("%s is not installed, and cannot be downloaded: %v\n%s", p.name, err, out)
		}
		filepath.WalkDir(unpacked, func(path string, _ fs.DirEntry, err error) error {
			names = append(names, path)
			return err
		})
	}
	for _, name := range names {
		if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() || st.Size() > code.MaxFileBytes {
			continue
		}
		if f, err := elf.Open(name); err == nil {
			if f.Machine == elf.EM_X86_64 && f.Class == elf.ELFCLASS64 && (f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN) {
				list = append(list, name)
			}
			f.Close()
		}
	}
	return list
}

// packageRow counts the findings in one package.
type packageRow struct {
	files, proven, unproven   int
	compared, changed         map[string]int // by mode: bytes of read-only segments, and those that differ
	executed, executedTrapped int            // places of instructions of chance that its command executes, and those with a breakpoint
}

// Programs in worlds read all bytes of the read-only segments of two hundred Debian packages as their files have them, except at breakpoints. Each
// instruction of chance that the packages' commands execute has a breakpoint. BLOODHOUND_PACKAGES="gpg curl" picks packages.
func TestPackagesReadTheirBytes(t *testing.T) {
	needCompiler(t)
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("BLOODHOUND_SOAK is not set")
	}
	program := compile(t, "testdata/packages/bytes.c")
	stepper := compile(t, "testdata/packages/steps.c")
	folder := filepath.Join(filepath.Dir(program), "unpacked") // worlds see the program's folder
	table := []string{"| package | files | instructions: proven, open | bytes compared | differ: plain, with coverage, with " +
		"switches | executed, with breakpoint |", "|---|---|---|---|---|---|"}
	total := packageRow{compared: map[string]int{}, changed: map[string]int{}}
	only := os.Getenv("BLOODHOUND_PACKAGES")
	for _, p := range debianPackages(t) {
		if only != "" && !slices.Contains(strings.Fields(only), p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			row := readPackage(t, program, p.files(t, folder))
			if p.command != nil {
				row.executed, row.executedTrapped = executedChance(t, stepper, p.command)
			}
			table = append(table, row.text(p.name))
			total.add(row)
		})
	}
	table = append(table, total.text("all"))
	t.Log("\n" + strings.Join(table, "\n"))
}

func (r *packageRow) add(o packageRow) {
	r.files, r.proven, r.unproven = r.files+o.files, r.proven+o.proven, r.unproven+o.unproven
	r.executed, r.executedTrapped = r.executed+o.executed, r.executedTrapped+o.executedTrapped
	for mode := range modes {
		r.compared[mode] += o.compared[mode]
		r.changed[mode] += o.changed[mode]
	}
}

func (r *packageRow) text(name string) string {
	return fmt.Sprintf("| %s | %d | %d, %d | %d | %d, %d, %d | %d, %d |", name, r.files, r.proven, r.unproven, r.compared["plain"],
		r.changed["plain"], r.changed["coverage"], r.changed["switches"], r.executed, r.executedTrapped)
}

// readPackage has a program in worlds compare the files' bytes in memory with those that it reads.
func readPackage(t *testing.T, program string, files []string) packageRow {
	t.Helper()
	row := packageRow{files: len(files), compared: map[string]int{}, changed: map[string]int{}}
	if len(files) == 0 {
		t.Fatal("the package has no ELF files")
	}
	for mode := range modes {
		folder := filepath.Dir(program)
		lists := filepath.Join(folder, mode)
		if err := os.MkdirAll(lists, 0o755); err != nil {
			t.Fatal(err)
		}
		row.proven, row.unproven = 0, 0
		for i, name := range files {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found := code.Chance(file)
			row.proven, row.unproven = row.proven+len(found.Found), row.unproven+len(found.Unproven)
			if err := os.WriteFile(filepath.Join(lists, strconv.Itoa(i)), offsets(file, found, mode != "plain"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(lists, "list"), []byte(strings.Join(files, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		lines, out := printedIn(t, mode, 1, program, lists)
		if len(out.Crashes) > 0 {
			t.Errorf("%s: %+v", mode, out.Crashes)
		}
		seen := 0
		for _, line := range lines {
			var number, compared, changed, wrong int
			if n, _ := fmt.Sscanf(line, "%d: %d compared, %d changed, %d wrong", &number, &compared, &changed, &wrong); n != 4 {
				t.Errorf("%s: %s", mode, line)
				continue
			}
			if number != seen || wrong != 0 || compared == 0 {
				t.Errorf("%s: %s: %s", mode, files[number], line)
			}
			seen++
			row.compared[mode] += compared
			row.changed[mode] += changed
		}
		if seen != len(files) {
			t.Errorf("%s: %d of %d files were compared", mode, seen, len(files))
		}
	}
	return row
}

// offsets are those at which the engine may put breakpoints into a file, in order and in 8 bytes each.
func offsets(file []byte, found *code.Findings, blocks bool) []byte {
	var list []uint64
	for _, f := range found.Found {
		list = append(list, f.Offset)
	}
	if b, err := code.Analyse(file); blocks && err == nil {
		for _, p := range b.Places {
			list = append(list, b.Offset(p))
		}
	}
	slices.Sort(list)
	var text bytes.Buffer
	binary.Write(&text, binary.LittleEndian, list)
	return text.Bytes()
}

// mostSteps bounds the instructions of a command that are looked at.
const mostSteps = 1_500_000

// executedChance counts the places at which a command executes an instruction of chance, and those of them at which the engine puts a breakpoint.
func executedChance(t *testing.T, stepper string, command []string) (executed, trapped int) {
	t.Helper()
	out, err := exec.Command(stepper, append([]string{strconv.Itoa(mostSteps)}, command...)...).Output()
	if err != nil || !strings.Contains(string(out), "steps ") {
		t.Errorf("%v: %v\n%s", command, err, out)
	}
	type place struct {
		name   string
		offset uint64
	}
	seen := map[place]bool{}
	found := map[string]*code.Findings{}
	for line := range strings.Lines(string(out)) {
		var what string
		var p place
		if n, _ := fmt.Sscanf(line, "executed %s %d %s", &what, &p.offset, &p.name); n != 3 || seen[p] {
			continue
		}
		seen[p] = true
		executed++
		if found[p.name] == nil {
			file, err := os.ReadFile(p.name)
			if err != nil {
				t.Errorf("%v executes %s in %s: %v", command, what, p.name, err)
				continue
			}
			found[p.name] = code.Chance(file)
		}
		// The stepper tells where the opcode is, Chance where the prefixes begin.
		if slices.ContainsFunc(found[p.name].Found, func(f code.Found) bool {
			return f.Kind.String() == what && p.offset >= f.Offset && p.offset < f.Offset+uint64(f.Length)
		}) {
			trapped++
		} else {
			t.Errorf("%v executes %s at %#x of %s, which has no breakpoint", command, what, p.offset, p.name)
		}
	}
	return executed, trapped
}
