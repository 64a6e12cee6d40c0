package rewrite

import (
	"fmt"
	"strconv"
	"strings"
)

// runtime is the package whose functions rewritten code calls.
const runtime = "github.com/bloodhound-dst/bloodhound/live/internal/shadow"

// prefix begins each name that the rewriter makes. Functions that have such names themselves are left alone.
const prefix = "bh_"

// body begins the name of a second body; functions of the runtime have no such name.
const body = prefix + "2_"

// calls are the functions of the runtime as the packages of a target declare them. bh_e is the type of shadows, bh_r that of records, bh_p an unsafe.Pointer.
var calls = []struct{ name, signature string }{
	{"Cond", "(site uint32, taken bool, e bh_e) bool"},
	{"Fix", "(site uint32, e bh_e, v uint64)"},
	{"FixText", "(site uint32, s string)"},
	{"FixMemory", "(site uint32, p bh_p, n uintptr)"},
	{"Key", "(site uint32, e bh_e, v uint64, keys []uint64, made bool)"},
	{"Depends", "(s string) bool"},
	{"KeyText", "(site uint32, s string, keys []string, made bool)"},
	{"Lose", "(site uint32, e bh_e)"},
	{"LoseHeld", "(site uint32, of bh_any, method string)"},
	{"LoseMemory", "(site uint32, p bh_p, n uintptr)"},
	{"Binary", "(op uint8, x, y bh_e, v, w uint64, width uint8) bh_e"},
	{"Shift", "(op uint8, x, n bh_e, v, count uint64, width, countWidth uint8) bh_e"},
	{"Unary", "(op uint8, x bh_e) bh_e"},
	{"Convert", "(x bh_e, signed bool, width uint8) bh_e"},
	{"Choose", "(less, x, y bh_e, v, w uint64, width uint8) bh_e"},
	{"Divisor", "(site uint32, y bh_e, w uint64)"},
	{"Index", "(site uint32, i bh_e, v uint64, signed bool, length int)"},
	{"Within", "(site uint32, i bh_e, v uint64, signed bool, length int) bool"},
	{"Element", "(site uint32, p bh_p, size uintptr, truth bool, i bh_e, v uint64, signed bool, length int) bh_e"},
	{"Load", "(p bh_p, size uintptr) bh_e"},
	{"LoadBool", "(p bh_p) bh_e"},
	{"Store", "(p bh_p, size uintptr, e bh_e)"},
	{"StoreBool", "(p bh_p, e bh_e)"},
	{"Copy", "(dst, src bh_p, n uintptr)"},
	{"Clear", "(p bh_p, n uintptr)"},
	{"Same", "(p, q bh_p, n uintptr) bh_e"},
	{"Operate", "(op uint8, p, q bh_p, like bh_any) bh_e"},
	{"Widen", "(p bh_p, like bh_any, width uint8) bh_e"},
	{"Narrow", "(site uint32, p bh_p, like bh_any, e bh_e, signed bool)"},
	{"Equal", "(p, q bh_p, like bh_any) bh_e"},
	{"Interfaces", "(x, y bh_any) bh_e"},
	{"DependsValue", "(p bh_p, like bh_any) bool"},
	{"KeyValue", "(site uint32, p bh_p, like bh_any, keys bh_p, n int, made bool)"},
	{"FixKey", "(site uint32, p bh_p, like bh_any)"},
	{"Reach", "(site uint32, values ...bh_any)"},
	{"Unseen", "(site uint32)"},
	{"Count", "(site uint32, n bh_e)"},
	{"Search", "(s, t string) bh_e"},
	{"Times", "(s string, c bh_e, value byte) bh_e"},
	{"Call", "(tag, site uint32)"},
	{"CallValue", "(tag, site uint32, of bh_any) int"},
	{"Done", "(n int) bool"},
	{"Ignore", "()"},
	{"Pass", "(i int, e bh_e)"},
	{"PassHeld", "(of bh_any, method string)"},
	{"PassMemory", "(i int, p bh_p, n uintptr)"},
	{"Enter", "(tag uint32) bh_r"},
	{"EnterLoop", "(tag uint32) bh_r"},
	{"Return", "(tag, site uint32)"},
	{"Give", "(i int, e bh_e)"},
	{"GiveMemory", "(i int, p bh_p, n uintptr)"},
	{"Back", "(tag uint32) bh_r"},
	{"Get", "(r bh_r, i int, v uint64, width uint8) bh_e"},
	{"GetMemory", "(r bh_r, i int, p bh_p, n uintptr)"},
	{"Byte", "(s string, i int) bh_e"},
	{"TextEqual", "(s, t string) bh_e"},
	{"TextLess", "(s, t string) bh_e"},
	{"Text", "(made *string, p bh_p)"},
	{"Concat", "(made, s, t string)"},
	{"TextCopy", "(p bh_p, s string, n int)"},
	{"Rune", "(site uint32, s string, i int, r rune) bh_e"},
	{"Big", "(p bh_p, size uintptr) bh_e"},
	{"PutBig", "(p bh_p, size uintptr, e bh_e)"},
	{"Ones", "(x bh_e) bh_e"},
	{"Length", "(x bh_e) bh_e"},
	{"LeadingZeros", "(x bh_e) bh_e"},
	{"TrailingZeros", "(x bh_e) bh_e"},
	{"ReverseBytes", "(x bh_e) bh_e"},
	{"Compare", "(s, t string) bh_e"},
	{"Find", "(p bh_p, n int, c bh_e, value byte) bh_e"},
	{"Boxed", "(i bh_any) bh_p"},
	{"Box", "(i *bh_any, p bh_p, n uintptr)"},
	{"BoxNumber", "(i *bh_any, size uintptr, e bh_e)"},
}

// declarations is the file of a rewritten package that names the runtime's functions. An empty assembly file beside it lets functions lack bodies.
func declarations(pkg, path string) string {
	var b strings.Builder
	// The constraint gives the file that version of the language, whatever the module has.
	fmt.Fprintf(&b, "//go:build go1.21\n\npackage %s\n\nimport \"unsafe\"\n\n", pkg)
	b.WriteString(`type (
	bh_p = unsafe.Pointer
	bh_any = interface{}
	bh_expr struct{ _ int }
	bh_e = *bh_expr
	bh_record struct{ _ int }
	bh_r = *bh_record
)

func bh_b(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func bh_data[S ~[]T, T bh_any](s S) bh_p { return bh_p(unsafe.SliceData(s)) }

func bh_text[S ~string](s S) bh_p { return bh_p(unsafe.StringData(string(s))) }

func bh_string[S ~[]byte](s S) string { return unsafe.String(unsafe.SliceData(s), len(s)) }

// bh_key decides which key of a map a number is. A key that is made when there is none is fixed.
func bh_key[M ~map[K]V, K comparable, V bh_any](site uint32, m M, e bh_e, v uint64, made bool) {
	if e == nil {
		return
	}
	var keys []uint64
	if len(m) <= bh_keysMax {
		for k := range m {
			n := uint64(0)
			copy(unsafe.Slice((*byte)(bh_p(&n)), 8), unsafe.Slice((*byte)(bh_p(&k)), unsafe.Sizeof(k)))
			keys = append(keys, n)
		}
	}
	bh_Key(site, e, v, keys, made || len(m) > bh_keysMax)
}

// bh_keyText does that for a string.
func bh_keyText[M ~map[K]V, K ~string, V bh_any](site uint32, m M, s string, made bool) {
	if !bh_Depends(s) {
		return
	}
	var keys []string
	if len(m) <= bh_keysMax {
		for k := range m {
			if len(k) == len(s) {
				keys = append(keys, string(k))
			}
		}
	}
	bh_KeyText(site, s, keys, made || len(m) > bh_keysMax)
}

// bh_keyValue does that for a structure or a list.
func bh_keyValue[M ~map[K]V, K comparable, V bh_any](site uint32, m M, p bh_p, like *K, made bool) {
	if !bh_DependsValue(p, bh_any(like)) {
		return
	}
	var keys []K
	if len(m) <= bh_keysMax {
		for k := range m {
			keys = append(keys, k)
		}
	}
	bh_KeyValue(site, p, bh_any(like), bh_data(keys), len(keys), made || len(m) > bh_keysMax)
}

// bh_keysMax is how many keys a map has at most for that: a path is one of them.
const bh_keysMax = 256

func bh_sizeof[T bh_any](*T) uintptr {
	var v T
	return unsafe.Sizeof(v)
}

func bh_sizeofElement[S ~[]T, T bh_any](S) uintptr {
	var v T
	return unsafe.Sizeof(v)
}

`)
	fmt.Fprintf(&b, "//go:linkname bh_On %s.On\nvar bh_On bool\n", runtime)
	if pkg == "main" {
		path = pkg // as the linker calls it, whatever its folder
	}
	paths := strconv.Quote(path)
	if pkg == "main" {
		paths += `, "main"` // in a program; in its tests it has its path
	}
	fmt.Fprintf(&b, "//go:linkname bh_Packages %s.Packages\nvar bh_Packages []string\n\nfunc init() { bh_Packages = append(bh_Packages, %s) }\n",
		runtime, paths)
	for _, c := range calls {
		// The runtime keeps no pointer that it is given and returns none, so whatever is on the stack of a function stays there.
		fmt.Fprintf(&b, "\n//go:noescape\n//go:linkname bh_%s %s.%s\nfunc bh_%s%s\n", c.name, runtime, c.name, c.name, c.signature)
	}
	return b.String()
}
