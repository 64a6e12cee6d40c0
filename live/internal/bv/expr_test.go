package bv

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"
)

// term is an expression as somebody wrote it: an operator and operands, not simplified.
type term struct {
	op    Op
	width uint8
	bits  uint64
	args  []*term
}

// value is the obvious twin of Eval: it knows no sharing, and nothing is simplified.
func (t *term) value(inputs []uint64) uint64 {
	if t.op == Input {
		return inputs[t.bits] & Mask(t.width)
	}
	e := Expr{Op: t.op, Width: t.width, Bits: t.bits}
	var v [3]uint64
	var operands [3]*Expr
	for i, a := range t.args {
		v[i], operands[i] = a.value(inputs), &Expr{Width: a.width}
	}
	e.A, e.B, e.C = operands[0], operands[1], operands[2]
	return e.apply(v[0], v[1], v[2])
}

func (t *term) build(b *Builder, inputs []uint64) *Expr {
	if t.op == Input {
		return b.Input(int(t.bits), t.width, inputs[t.bits])
	}
	var x [3]*Expr
	for i, a := range t.args {
		x[i] = a.build(b, inputs)
	}
	return b.apply(t.op, t.width, t.bits, x[0], x[1], x[2])
}

// randomTerm has operators of every kind, and the constants, masks and shifts that programs have.
func randomTerm(r *rand.Rand, widths []uint8, width uint8, depth int) *term {
	if depth == 0 || r.Intn(12) == 0 {
		if r.Intn(3) == 0 {
			return &term{op: Const, width: width, bits: interesting(r, width)}
		}
		n := r.Intn(len(widths))
		return fit(r, &term{op: Input, width: widths[n], bits: uint64(n)}, width)
	}
	sub := func(width uint8) *term { return randomTerm(r, widths, width, depth-1) }
	binary := []Op{Add, Sub, Mul, UDiv, URem, SDiv, SRem, And, Or, Xor, Shl, LShr, AShr, And, Or, Shl, LShr, Add, Sub}
	if width == 1 && r.Intn(4) > 0 {
		w := widths[r.Intn(len(widths))]
		if r.Intn(4) == 0 {
			w = uint8(1 + r.Intn(int(w)))
		}
		op := []Op{Eq, Eq, Ult, Ule, Slt, Sle, And, Or, Xor, Not}[r.Intn(10)]
		switch op {
		case And, Or, Xor:
			return &term{op: op, width: 1, args: []*term{sub(1), sub(1)}}
		case Not:
			return &term{op: op, width: 1, args: []*term{sub(1)}}
		}
		return &term{op: op, width: 1, args: []*term{sub(w), sub(w)}}
	}
	switch r.Intn(8) {
	case 0:
		return &term{op: []Op{Not, Neg}[r.Intn(2)], width: width, args: []*term{sub(width)}}
	case 1:
		return &term{op: Ite, width: width, args: []*term{sub(1), sub(width), sub(width)}}
	case 2:
		if width > 1 {
			low := uint8(1 + r.Intn(int(width)-1))
			return &term{op: Concat, width: width, args: []*term{sub(width - low), sub(low)}}
		}
	case 3:
		return fit(r, sub(widths[r.Intn(len(widths))]), width)
	}
	return &term{op: binary[r.Intn(len(binary))], width: width, args: []*term{sub(width), sub(width)}}
}

func interesting(r *rand.Rand, width uint8) uint64 {
	v := r.Uint64()
	switch r.Intn(5) {
	case 0:
		v = uint64(r.Intn(4)) - 1
	case 1:
		v = 1 << r.Intn(int(width))
	case 2:
		v = Mask(uint8(1+r.Intn(int(width)))) << r.Intn(int(width))
	case 3:
		v = uint64(r.Intn(int(width) + 2))
	}
	return v & Mask(width)
}

// fit extracts from or extends a term.
func fit(r *rand.Rand, t *term, width uint8) *term {
	switch {
	case t.width > width:
		return &term{op: Extract, width: width, bits: uint64(r.Intn(int(t.width-width) + 1)), args: []*term{t}}
	case t.width < width:
		return &term{op: []Op{ZExt, SExt}[r.Intn(2)], width: width, args: []*term{t}}
	}
	return t
}

func randomInputs(r *rand.Rand, widths []uint8) []uint64 {
	v := make([]uint64, len(widths))
	for i, w := range widths {
		v[i] = interesting(r, w)
	}
	return v
}

var shapes = [][]uint8{{8, 8}, {4, 3, 1}, {16, 8, 32}, {64, 32, 8}, {1, 1, 1}, {64}, {7, 13}}

// Simplified expressions have the values of what was written, for any inputs, and Concrete is the value for the path's.
func TestSimplifiedIsEqual(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var b Builder
	for i := range 30000 {
		if i%1000 == 0 {
			b.Reset()
		}
		widths := shapes[(i/1000)%len(shapes)]
		width := uint8(1)
		if i%2 == 0 {
			width = uint8(1 + r.Intn(MaxWidth))
		}
		tree := randomTerm(r, widths, width, 1+r.Intn(5))
		path := make([]uint64, len(widths))
		for n, w := range widths {
			path[n] = b.Input(n, w, interesting(r, w)).Concrete
		}
		e := tree.build(&b, path)
		if e.Width != width {
			t.Fatalf("%v has %d bits, not %d", e, e.Width, width)
		}
		if want := tree.value(path); e.Concrete != want {
			t.Fatalf("%v is %#x on its path, not %#x", e, e.Concrete, want)
		}
		for range 20 {
			in := randomInputs(r, widths)
			if got, want := Eval(e, in), tree.value(in); got != want {
				t.Fatalf("%v is %#x for %#x, not %#x", e, got, in, want)
			}
		}
	}
}

// What a program computes from its inputs is written in its simplest form.
func TestForms(t *testing.T) {
	var b Builder
	x, y, ip := b.Input(0, 8, 0), b.Input(1, 8, 0), b.Input(2, 32, 0)
	k := b.Const
	wide := func(e *Expr) *Expr { return b.ZExt(e, 64) }
	byteOf := func(e *Expr, n uint8) *Expr { return b.Extract(e, 8*n, 8) }
	for _, c := range []struct {
		name string
		got  *Expr
		want string
	}{
		{"a length below a constant", b.Slt(wide(x), k(24, 64)), "(bvult in0 #x18)"},
		{"a length that cannot be", b.Slt(wide(x), k(300, 64)), "#b1"},
		{"a flag", b.Ne(b.And(x, k(0x10, 8)), k(0, 8)), "((_ extract 4 4) in0)"},
		{"a network", b.Eq(b.And(ip, k(0xffffff00, 32)), k(0x0a010200, 32)), "(= ((_ extract 31 8) in2) #x0a0102)"},
		{"a network that cannot be", b.Eq(b.And(ip, k(0xffffff00, 32)), k(0x0a010201, 32)), "#b0"},
		{"bytes put together", b.Or(b.Shl(b.ZExt(x, 16), k(8, 16)), b.ZExt(y, 16)), "(concat in0 in1)"},
		{"bytes of a word", b.Concat(b.Concat(byteOf(ip, 3), byteOf(ip, 2)), b.Concat(byteOf(ip, 1), byteOf(ip, 0))), "in2"},
		{"bytes of a sum", b.Concat(byteOf(b.Add(ip, ip), 1), byteOf(b.Add(b.Mul(ip, ip), k(1, 32)), 0)),
			"(concat ((_ extract 14 7) in2) ((_ extract 7 0) (bvadd (bvmul in2 in2) #x00000001)))"},
		{"bytes of a number with sign", func() *Expr {
			e := b.SExt(b.Concat(x, y), 64)
			all := byteOf(e, 0)
			for i := uint8(1); i < 8; i++ {
				all = b.Concat(byteOf(e, i), all)
			}
			return b.Extract(all, 0, 24)
		}(), "((_ sign_extend 8) (concat in0 in1))"},
		{"not less", b.Not(b.Ult(x, y)), "(bvule in1 in0)"},
		{"more than a constant", b.Ult(k(7, 8), x), "(bvule #x08 in0)"},
		{"at most a constant", b.Ule(x, k(7, 8)), "(bvult in0 #x08)"},
		{"a truth value as a number", b.Eq(b.Ite(b.Ult(x, y), k(1, 8), k(0, 8)), k(0, 8)), "(bvule in1 in0)"},
		{"a truth value as a byte", b.Ite(b.Ult(x, y), k(1, 8), k(0, 8)), "((_ zero_extend 7) (bvult in0 in1))"},
		{"a count of another width", b.Shl(b.ZExt(x, 64), k(70, 8)), "#x0000000000000000"},
		{"a difference", b.Eq(b.Sub(k(32, 8), x), k(8, 8)), "(= in0 #x18)"},
		{"itself", b.Xor(b.Add(x, y), b.Add(y, x)), "#x00"},
		{"a digit", b.UDiv(wide(x), k(10, 64)), "((_ zero_extend 56) (bvudiv in0 #x0a))"},
		{"a prefix below", b.Ult(b.And(ip, k(0xffffff00, 32)), k(0x0a010200, 32)), "(bvult ((_ extract 31 8) in2) #x0a0102)"},
		{"an element", b.Eq(b.Ite(b.Eq(x, k(0, 8)), k(5, 8), b.Ite(b.Eq(x, k(1, 8)), k(6, 8), k(7, 8))), k(6, 8)), "(bvand (= in0 #x01) (bvnot (= in0 #x00)))"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// The bytes of any expression, stored and loaded in any order of steps, are the expression.
func TestBytesAreTheWhole(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	var b Builder
	for i := range 20000 {
		if i%1000 == 0 {
			b.Reset()
		}
		widths := shapes[2+(i/1000)%2]
		width := []uint8{16, 32, 64}[r.Intn(3)]
		e := randomTerm(r, widths, width, 4).build(&b, randomInputs(r, widths))
		var all *Expr
		for low := uint8(0); low < width; low += 8 {
			if one := b.Extract(e, low, 8); all == nil {
				all = one
			} else {
				all = b.Concat(one, all)
			}
		}
		if all != e {
			t.Fatalf("the bytes of %v are %v", e, all)
		}
		half := width / 2
		if all := b.Concat(b.Extract(e, half, half), b.Extract(e, 0, half)); all != e {
			t.Fatalf("the halves of %v are %v", e, all)
		}
	}
}

func TestWire(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	widths := shapes[2]
	for range 300 {
		var b, other Builder
		var list []*Expr
		for n, w := range widths {
			b.Input(n, w, interesting(r, w))
		}
		for range 1 + r.Intn(10) {
			list = append(list, randomTerm(r, widths, uint8(1+r.Intn(MaxWidth)), 5).build(&b, make([]uint64, len(widths))))
		}
		data := append(Append(nil, list...), "rest"...)
		same, rest, err := Parse(&b, data)
		if err != nil || string(rest) != "rest" || !slices.Equal(same, list) {
			t.Fatalf("%v came back as %v, and %q, %v", list, same, rest, err)
		}
		there, _, err := Parse(&other, data)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range there {
			if e.Concrete != list[i].Concrete {
				t.Fatalf("%v has the concrete value %#x, and %#x before", e, e.Concrete, list[i].Concrete)
			}
			for range 10 {
				if in := randomInputs(r, widths); Eval(e, in) != Eval(list[i], in) {
					t.Fatalf("%v was %v", e, list[i])
				}
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":             {},
		"more than follows":   {200, 1},
		"a number too long":   bytes.Repeat([]byte{0xff}, 11),
		"an operator":         {1, 99, 8, 0, 0},
		"no width":            {1, byte(Const), 0, 0, 0},
		"a width":             {1, byte(Const), 65, 0, 0},
		"a constant":          {1, byte(Const), 3, 8, 0},
		"its own operand":     {1, byte(Not), 8, 0, 0},
		"an operand before":   {1, byte(Not), 8, 1, 0},
		"unequal operands":    {3, byte(Const), 8, 1, byte(Const), 9, 1, byte(Add), 8, 1, 2, 0},
		"an extract":          {2, byte(Const), 8, 1, byte(Extract), 8, 1, 1, 0},
		"a wide extract":      {2, byte(Const), 8, 1, byte(Extract), 8, 1, 255, 1, 0},
		"a sum of widths":     {2, byte(Const), 8, 1, byte(Concat), 8, 1, 1, 0},
		"an input's number":   {1, byte(Input), 8, 0xff, 0xff, 0xff, 1, 0, 0},
		"an input's width":    {2, byte(Input), 8, 0, 0, byte(Input), 9, 0, 0, 0},
		"a root":              {1, byte(Const), 8, 1, 1, 1},
		"roots that end":      {1, byte(Const), 8, 1, 2, 0},
		"a condition":         {2, byte(Const), 8, 1, byte(Ite), 8, 1, 1, 1, 0},
		"a comparison's bits": {2, byte(Const), 8, 1, byte(Eq), 8, 1, 1, 0},
	} {
		var b Builder
		if list, _, err := Parse(&b, data); err == nil {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// A term may be far longer, and a graph far deeper, than what can be walked by calls.
func TestLongTerms(t *testing.T) {
	var b Builder
	x := b.Input(0, 64, 3)
	sum := x
	for range 100 {
		sum = b.Add(b.Mul(sum, sum), b.UDiv(sum, x))
	}
	deep := x
	want := uint64(5)
	for i := range 200000 {
		if i%2 == 0 {
			deep, want = b.Not(b.Mul(deep, b.Const(3, 64))), ^(want * 3)
		} else {
			deep, want = b.Neg(deep), -want
		}
	}
	if got := Eval(deep, []uint64{5}); got != want {
		t.Errorf("a deep term is %#x, not %#x", got, want)
	}
	for _, e := range []*Expr{sum, deep} {
		if n := len(e.String()); n > 8*textMax {
			t.Errorf("a text of %d bytes", n)
		}
		b.Eq(e, b.Const(7, 64))
		again, _, err := Parse(&b, Append(nil, e))
		if err != nil || again[0] != e {
			t.Errorf("a long term came back as another: %v", err)
		}
		if Eval(e, []uint64{3}) != e.Concrete {
			t.Error("the concrete value of a long term is another one")
		}
	}
}

func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewSource(4))
	for i := range 30 {
		var b Builder
		f.Add(Append(nil, randomTerm(r, shapes[2], 32, 1+i%5).build(&b, make([]uint64, 3))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b, other Builder
		list, rest, err := Parse(&b, data)
		if err != nil {
			return
		}
		if len(rest) > len(data) {
			t.Fatal("more follows than was given")
		}
		again, _, err := Parse(&other, Append(nil, list...))
		if err != nil || len(again) != len(list) {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
		for i, e := range again {
			if in := []uint64{1, 0x80, 0xffff}; Eval(e, in) != Eval(list[i], in) || e.Width != list[i].Width {
				t.Fatalf("%v came back as %v", list[i], e)
			}
		}
	})
}

// A node whose operator is applied to its operands once more is the same node.
func TestFormsAreStable(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	widths := shapes[2]
	var b Builder
	for i := range 30000 {
		if i%1000 == 0 {
			b.Reset()
		}
		e := randomTerm(r, widths, uint8(1+r.Intn(20)), 1+r.Intn(3)).build(&b, make([]uint64, len(widths)))
		for _, n := range Nodes(e) {
			if n.Op == Input {
				continue
			}
			if again := b.apply(n.Op, n.Width, n.Bits, n.A, n.B, n.C); again != n {
				t.Fatalf("%v is %v when it is made again", n, again)
			}
		}
	}
}
