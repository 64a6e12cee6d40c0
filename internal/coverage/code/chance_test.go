package code

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

func TestRecognise(t *testing.T) {
	no := NoRegister
	for _, c := range []struct {
		bytes string
		want  Instruction
	}{
		{"\x0f\xc7\xf0", Instruction{Kind: RDRAND, Length: 3, Reg: 6, Register: 0}},
		{"\x49\x0f\xc7\xf5", Instruction{Kind: RDRAND, Length: 4, Wide: true, Reg: 6, Register: 13}},
		{"\x66\x0f\xc7\xf1", Instruction{Kind: RDRAND, Length: 4, Narrow: true, Reg: 6, Register: 1}},
		{"\x48\x0f\xc7\xfa", Instruction{Kind: RDSEED, Length: 4, Wide: true, Reg: 7, Register: 2}},
		{"\xf3\x0f\xc7\xf8", Instruction{Kind: RDPID, Length: 4, Reg: 7, Register: 0}},
		{"\x48\x0f\x03\xc1", Instruction{Kind: LSL, Length: 4, Wide: true, Reg: 0, Register: 1}},
		{"\x0f\xa2", Instruction{Kind: CPUID, Length: 2, Register: no}},
		{"\x0f\x01\xd0", Instruction{Kind: XGETBV, Length: 3, Register: no}},
		{"\x0f\xc7\x64\x24\x40", Instruction{Kind: XSAVEC, Length: 5, Reg: 4, Register: no, Base: 4, Index: no, Scale: 1, Disp: 64}},
		{"\x48\x0f\xae\xa4\xcb\x00\x01\x00\x00", Instruction{Kind: XSAVE, Length: 9, Wide: true, Reg: 4, Register: no, Base: 3, Index: 1, Scale: 8, Disp: 256}},
		{"\x0f\xae\x35\xf0\xff\xff\xff", Instruction{Kind: XSAVEOPT, Length: 7, Reg: 6, Register: no, Base: no, Index: no, Disp: -16, Relative: true}},
		{"\xc7\xf8\x10\x00\x00\x00", Instruction{Kind: XBEGIN, Length: 6, Disp: 16, Register: no}},
		{"\x66\x0f\xae\xf1", Instruction{Kind: UMWAIT, Length: 4, Narrow: true, Reg: 6, Register: 1}},
		{"\x64\x0f\x01\x04\x25\x10\x00\x00\x00", Instruction{Kind: SGDT, Length: 9, Register: no, Base: no, Index: no, Scale: 1, Disp: 16, FS: true}},
		{"\xd9\x74\x24\xd8", Instruction{Kind: FNSTENV, Length: 4, Reg: 6, Register: no, Base: 4, Index: no, Scale: 1, Disp: -40}},
		{"\x66\x41\xd9\x31", Instruction{Kind: FNSTENV, Length: 4, Narrow: true, Reg: 6, Register: no, Base: 9, Index: no}},
		{"\xdd\x35\x10\x00\x00\x00", Instruction{Kind: FNSAVE, Length: 6, Reg: 6, Register: no, Base: no, Index: no, Disp: 16, Relative: true}},
		{"\x48\x0f\xae\x00", Instruction{Kind: FXSAVE, Length: 4, Wide: true, Reg: 0, Register: no, Base: 0, Index: no}},
	} {
		if c.want.Register != no || c.want.Kind == CPUID || c.want.Kind == XGETBV || c.want.Kind == XBEGIN {
			c.want.Base, c.want.Index = no, no
		}
		if got, ok := Recognise([]byte(c.bytes)); !ok || got != c.want {
			t.Errorf("% x: %+v, %v, want %+v", c.bytes, got, ok, c.want)
		}
		for n := range len(c.bytes) {
			if got, ok := Recognise([]byte(c.bytes[:n])); ok {
				t.Errorf("the first %d bytes of % x are %+v", n, c.bytes, got)
			}
		}
	}
	for _, none := range []string{
		"\x0f\xc7\x0e",         // cmpxchg8b
		"\x48\x0f\xae\x08",     // fxrstor64
		"\x0f\xae\xf0",         // mfence
		"\xd9\xf0",             // f2xm1
		"\xd9\x3c\x24",         // fnstcw
		"\xdd\x3c\x24",         // fnstsw
		"\xf3\x0f\xae\xc0",     // rdfsbase
		"\x0f\xae\xe8",         // lfence
		"\x66\x0f\xae\x30",     // clwb
		"\x66\x0f\xae\x38",     // clflushopt
		"\xf3\x0f\xae\xf0",     // umonitor
		"\x0f\x01\xf9",         // rdtscp
		"\x0f\x01\xd5",         // xend
		"\x48\x90\x0f",         // a prefix that is not the last
		"\x0f\xc7\x5d\x00",     // xrstors
		"\xc7\xf0\x00\x00\x00", // nothing
	} {
		if got, ok := Recognise([]byte(none)); ok {
			t.Errorf("% x is %+v", none, got)
		}
	}
}

// What the analysis finds in files of this machine is what another disassembler finds, but for what lies in data.
func TestChanceAsObjdumpFindsIt(t *testing.T) {
	needs.Program(t, "objdump")
	mnemonic := regexp.MustCompile(`^\s*([0-9a-f]+):\s+(?:(?:data16|rex\.W|addr32) )*(rdrand|rdseed|rdpid|cpuid|xgetbv|xsavec?(?:opt)?(?:64)?|fnstenv|fnsave|fxsave(?:64)?)\b`)
	for _, pattern := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/x86_64-linux-gnu/libm.so.6"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := exec.Command("objdump", "-d", "--no-show-raw-insn", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := open(content)
			if err != nil {
				t.Fatal(err)
			}
			functions := f.functions()
			var theirs []uint64
			for line := range strings.Lines(string(text)) {
				m := mnemonic.FindStringSubmatch(line)
				if m == nil {
					continue
				}
				addr, _ := strconv.ParseUint(m[1], 16, 64)
				if slices.ContainsFunc(functions, func(fn function) bool { return fn.start <= addr && addr < fn.end }) {
					theirs = append(theirs, addr)
				}
			}
			var ours []uint64
			for _, c := range Chance(content).Found {
				for _, s := range f.segments {
					if c.Offset-s.Offset < s.Size && (c.Kind <= XSAVEC && c.Kind != LSL || c.Kind.tellsX87()) {
						ours = append(ours, c.Offset-s.Offset+s.Addr)
					}
				}
			}
			if !slices.Equal(ours, theirs) {
				t.Errorf("%s: %x, and objdump finds %x", file, ours, theirs)
			}
			t.Logf("%s: %d instructions", file, len(ours))
		}
	}
}

// What lies in data looks like an instruction now and then, and must be left alone.
func TestChanceIsNotFoundInData(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 1<<20)
	found, looks := 0, 0
	for range 16 {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		list, looked := InCode(b)
		found += len(list)
		looks += looked
	}
	t.Logf("%d of %d", found, looks)
	if 50*found > looks {
		t.Errorf("of %d places in 16 MiB of random bytes that look like an instruction, %d are taken for one", looks, found)
	}
}
