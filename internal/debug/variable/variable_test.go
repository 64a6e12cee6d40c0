//go:build linux && amd64

package variable

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

const cProgram = `
#include <stdint.h>
enum mode { OFF, ON = 5 };
typedef struct node { int value; struct node *next; union { short low; char text[8]; }; unsigned flag : 1; } node;
node nodes[3] = {{1, &nodes[1], {.text = "one"}}, {2, &nodes[2], {7}}, {3}};
node *first = &nodes[0];
enum mode mode = ON;
const char *greeting = "hello";
unsigned char byte = 200;
double ratio = -1.5;
float small = 0.25;
uint64_t large = 18446744073709551615u;
long unsigned plain = 4;
_Bool yes = 1;
char letter = 'x';
int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
__thread int own = 3;
static int twice = 1;
int other(void);
int count(void) { static int calls = 42; return calls++; }
int main(void) { return twice + other() + count(); }
`

const cOther = `static int twice = 2; int other(void) { return twice; }`

const cxxProgram = `
namespace outer { struct counter { static int total; int here; }; int counter::total = 9; namespace inner { int depth = 3; } }
int main() { return outer::counter::total + outer::inner::depth; }
`

const goProgram = `package main

type inner struct{ N int32; Name string }
type table struct{ rows []inner; on bool; next *table; by float64; where any }

var state = &table{rows: []inner{{1, "one"}, {2, "two"}}, on: true, by: 2.5, next: &table{}}
var title = "a title"
var number uint16 = 65535

func main() { println(state.rows[0].N, title, number) }
`

const rustProgram = `
mod store { pub static mut COUNT: u32 = 77; pub struct P { pub a: i64, pub b: u8 } pub static mut PAIR: P = P { a: -2, b: 3 }; }
fn main() { unsafe { store::COUNT += 1; store::PAIR.a -= 1; println!("{}", store::COUNT + store::PAIR.b as u32); } }
`

// built compiles a program, and gives its names and its memory before it runs.
func built(t *testing.T, source map[string]string, compiler ...string) (*Program, Memory) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range source {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(needs.Program(t, compiler[0]), compiler[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compiler, err, out)
	}
	file, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	bias := uint64(0)
	if f.Type == elf.ET_DYN { // it may lie anywhere
		bias = 0x10000
	}
	p, err := Read(file, nil, f.Entry+bias)
	if err != nil {
		t.Fatal(err)
	}
	relocations := map[uint64]uint64{} // R_X86_64_RELATIVE
	if s := f.Section(".rela.dyn"); s != nil {
		data, _ := s.Data()
		for ; len(data) >= 24; data = data[24:] {
			relocations[binary.LittleEndian.Uint64(data)] = binary.LittleEndian.Uint64(data[16:])
		}
	}
	return p, func(address uint64, n int) []byte {
		for _, s := range f.Progs {
			at := address - bias - s.Vaddr
			if s.Type != elf.PT_LOAD || at >= s.Memsz {
				continue
			}
			b := make([]byte, min(uint64(n), s.Memsz-at))
			if at < s.Filesz {
				s.ReadAt(b[:min(uint64(len(b)), s.Filesz-at)], int64(at))
			}
			for i := range b {
				if to, ok := relocations[address-bias+uint64(i)]; ok && len(b)-i >= 8 {
					binary.LittleEndian.PutUint64(b[i:], to+bias)
				}
			}
			return b
		}
		return nil
	}
}

// shows checks what is found for expressions.
func shows(t *testing.T, p *Program, m Memory, expected map[string]string) {
	t.Helper()
	for expression, want := range expected {
		place, err := p.Find(expression, 0, m)
		got := fmt.Sprint(err)
		if err == nil {
			got = p.Text(place, m(place.Address, int(place.Bytes)), m)
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want && !strings.HasSuffix(want, "0x") {
			t.Errorf("%s is %s, and should be %s", expression, got, want)
		}
	}
}

func TestVariablesOfC(t *testing.T) {
	p, m := built(t, map[string]string{"one.c": cProgram, "two.c": cOther}, "gcc", "-g", "-O0", "-o", "program", "one.c", "two.c")
	nodes, err := p.Find("nodes[1]", 0, m)
	if err != nil {
		t.Fatal(err)
	}
	shows(t, p, m, map[string]string{
		"nodes[0].value": "1", "first->next->value": "2", "first.next.next.value": "3", "first[2].value": "3",
		"nodes[1].low": "7", "nodes[0].text": `"one"`, "nodes[0].text[1]": "110 'n'",
		"mode": "ON", "byte": "200", "ratio": "-1.5", "small": "0.25", "large": "18446744073709551615", "yes": "true",
		"letter": "120 'x'", "grid": "{{1, 2, 3}, {4, 5, 6}}", "grid[1]": "{4, 5, 6}", "grid[1][2]": "6",
		"count::calls": "42", "calls": "42", "one.c::twice": "1", "two.c::twice": "2", "one.c::grid[0][1]": "2",
		fmt.Sprintf("(node *) %#x", nodes.Address):                         "{value = 2, next = 0x",
		fmt.Sprintf("(struct node *) %#x <nodes+24>.value", nodes.Address): "2", fmt.Sprintf("(*node)(%#x).value", nodes.Address): "2",
		fmt.Sprintf("(unsigned long *) %#x", nodes.Address): "2", fmt.Sprintf("(node **) %#x.next", nodes.Address+8): "0x0", fmt.Sprint(nodes.Address): "2",
		"twice": "twice may mean one.c::twice or two.c::twice: give one of them", "own": "the program has no variable own",
		"nothing.x": "the program has no variable nothing.x",
		"nodes[3]":  "nodes[3]: the array has 3 elements", "nodes[x]": "nodes[x]: [x] is not an index",
		"nodes.value": "nodes.value: it is not a struct", "nodes[0].flag": "nodes[0].flag: flag is a bit-field",
		"nodes[0].x":            "nodes[0].x: struct node has no member x",
		"nodes[2].next.value.x": "nodes[2].next.value.x: it is not a struct", "nodes[2].next.next.value": "nodes[2].next.next.value: there is no memory at 0x8",
		"(node) 0x10": "a pointer is written as", "(node *) x": "a pointer is written as",
		"(*node) 0x10": "a pointer is written as", "(*node)(0x10": "a pointer is written as", "(nothing *) 0x10": "the program has no type nothing",
		"0x10.x": "0x10.x: it is not a struct", "byte[1]": "byte[1]: it has no elements",
		"nodes[2]": `{value = 3, next = 0x0, {low = 0, text = ""}}`, "": "the program has no variable",
		"grid]": "the program has no variable", "grid[1]x": `grid[1]x: "x" is neither`,
	})
	place, err := p.Find("greeting", 0, m)
	if got := p.Text(place, m(place.Address, 8), m); err != nil || !strings.HasPrefix(got, "0x") || !strings.HasSuffix(got, ` "hello"`) {
		t.Errorf("greeting is %s, %v", got, err)
	}
	if place, err := p.Find("grid", 12, m); err != nil || p.Text(place, m(place.Address, 12), m) != "0x010000000200000003000000" {
		t.Errorf("the beginning of a place without its type: %+v %v", place, err)
	}
}

// Without debug information there are symbols.
func TestVariablesBySymbol(t *testing.T) {
	p, m := built(t, map[string]string{"one.c": cProgram, "two.c": cOther}, "gcc", "-O0", "-o", "program", "one.c", "two.c")
	shows(t, p, m, map[string]string{"plain": "4", "byte": "-56", "twice": "the program has several symbols named twice",
		"first->value": "the program has no variable first->value", "(int *) 0x10": "the program has no type int",
		"grid": "0x010000000200000003000000040000000500000006000000"})
}

func TestVariablesOfOtherLanguages(t *testing.T) {
	t.Run("C++", func(t *testing.T) {
		p, m := built(t, map[string]string{"one.cc": cxxProgram}, "g++", "-g", "-o", "program", "one.cc")
		shows(t, p, m, map[string]string{"outer::counter::total": "9", "total": "9", "inner::depth": "3", "one.cc::outer::inner::depth": "3"})
	})
	t.Run("Go", func(t *testing.T) {
		p, m := built(t, map[string]string{"main.go": goProgram, "go.mod": "module program\n\ngo 1.24\n"}, "go", "build", "-o", "program", ".")
		shows(t, p, m, map[string]string{"main.state.rows[1].N": "2", "main.state.rows[1].Name": `"two"`,
			"main.state.rows[0]": `{N = 1, Name = "one"}`, "main.state.on": "true", "main.state.by": "2.5",
			"main.state.next.on": "false", "main.title": `"a title"`,
			"main.number": "65535", "main.state.rows[2]": "main.state.rows[2]: the slice has 2 elements",
			"main.state.nothing": "main.state.nothing: struct main.table has no member nothing", "main.nothing": "the program has no variable"})
		at, err := p.Find("main.state.rows", 0, m)
		if err != nil {
			t.Fatal(err)
		}
		shows(t, p, m, map[string]string{fmt.Sprintf("(*main.table)(%#x).rows[1].Name", at.Address): `"two"`,
			fmt.Sprintf(`(*"main.table")(%#x).on`, at.Address): "true"})
	})
	t.Run("Rust", func(t *testing.T) {
		p, m := built(t, map[string]string{"main.rs": rustProgram}, "rustc", "-g", "-o", "program", "main.rs")
		shows(t, p, m, map[string]string{"store::COUNT": "77", "COUNT": "77", "store::PAIR.a": "-2", "store::PAIR.b": "3"})
	})
}
