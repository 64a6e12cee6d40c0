package code

import (
	"debug/elf"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// text is the code of a program: of this test, whose Go code has all that Go's compiler and assembler emit.
func text(t *testing.T, path string) (*elf.File, *elf.Section, []byte) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		needs.Missing(t, path, err)
	}
	t.Cleanup(func() { f.Close() })
	s := f.Section(".text")
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return f, s, b
}

// The slow twin knows fewer instructions, but what it knows must be as long here.
func TestDecodeAgreesWithX86asm(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, _, b := text(t, self)
	if len(b) > 1<<20 {
		b = b[:1<<20]
	}
	compared := 0
	for at := 0; at < len(b); {
		in := decode(b[at:])
		want, err := x86asm.Decode(b[at:], 64)
		vector := b[at] == 0xc4 || b[at] == 0xc5 || b[at] == 0x62 // which x86asm takes for something else
		if err == nil && in.flow != bad && !vector {
			compared++
			if in.length != want.Len {
				t.Fatalf("% x: %d bytes, but %v has %d", b[at:at+15], in.length, want, want.Len)
			}
			if rel, ok := want.Args[0].(x86asm.Rel); ok && int64(rel) != in.target {
				t.Fatalf("% x: leads to %d, but %v to %d", b[at:at+15], in.target, want, rel)
			}
		}
		at += max(in.length, 1)
	}
	if compared < 100_000 {
		t.Errorf("only %d instructions compared", compared)
	}
}

var line = regexp.MustCompile(`^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$`)

// objdump knows all instructions; each of its lines must be as long here.
func TestDecodeAgreesWithObjdump(t *testing.T) {
	for _, path := range []string{"/usr/bin/redis-server", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"} {
		t.Run(path, func(t *testing.T) {
			_, s, _ := text(t, path)
			from := s.Addr + s.Size/3
			out, err := exec.Command("objdump", "-d", "-w", "-z", "--insn-width=16",
				"--start-address="+strconv.FormatUint(from, 10), "--stop-address="+strconv.FormatUint(from+400_000, 10), path).Output()
			if err != nil {
				needs.Missing(t, "objdump", err)
			}
			seen, refused := 0, 0
			for l := range strings.Lines(string(out)) {
				m := line.FindStringSubmatch(strings.TrimRight(l, "\n"))
				if m == nil || strings.Contains(m[3], "(bad)") || strings.HasPrefix(m[3], ".byte") {
					continue
				}
				var b []byte
				for _, h := range strings.Fields(m[2]) {
					v, _ := strconv.ParseUint(h, 16, 8)
					b = append(b, byte(v))
				}
				in := decode(append(b, make([]byte, 15)...))
				seen++
				switch {
				// objdump shows prefixes as instructions of their own
				case m[3] == "fwait" || strings.HasPrefix(m[3], "rex"), strings.Contains(m[3], "data16"), strings.Contains(m[3], "addr32"):
				case in.flow == bad:
					refused++
					if refused < 20 {
						t.Logf("refused: %s", strings.TrimSpace(l))
					}
				case in.length != len(b):
					t.Errorf("%d bytes: %s", in.length, strings.TrimSpace(l))
				}
			}
			if seen < 10_000 {
				t.Errorf("only %d instructions", seen)
			}
			if refused*1000 > seen {
				t.Errorf("%d of %d instructions are refused", refused, seen)
			}
		})
	}
}
