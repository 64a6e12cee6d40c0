package rewrite

import (
	"bytes"
	"go/constant"
	"go/types"
	"hash/fnv"
	"strconv"
	"strings"
)

// scalar describes a type whose values have one shadow: an integer or a truth value.
type scalar struct {
	width  int // in bits; 1 for a truth value
	signed bool
}

func (s scalar) isBool() bool { return s.width == 1 }

// size is in bytes.
func (s scalar) size() int { return (s.width + 7) / 8 }

var widths = map[types.BasicKind]scalar{
	types.Bool: {width: 1}, types.UntypedBool: {width: 1},
	types.Int: {64, true}, types.Int8: {8, true}, types.Int16: {16, true}, types.Int32: {32, true}, types.Int64: {64, true},
	types.Uint: {width: 64}, types.Uint8: {width: 8}, types.Uint16: {width: 16}, types.Uint32: {width: 32},
	types.Uint64: {width: 64}, types.Uintptr: {width: 64},
	types.UntypedInt: {64, true}, types.UntypedRune: {32, true},
}

// scalarOf describes T if it is a scalar of which the width is known here.
func scalarOf(T types.Type) (scalar, bool) {
	if T == nil || isTypeParam(T) {
		return scalar{}, false
	}
	b, ok := T.Underlying().(*types.Basic)
	if !ok {
		return scalar{}, false
	}
	s, ok := widths[b.Kind()]
	return s, ok
}

func isTypeParam(T types.Type) bool {
	_, ok := types.Unalias(T).(*types.TypeParam)
	return ok
}

func isString(T types.Type) bool {
	if T == nil || isTypeParam(T) {
		return false
	}
	b, ok := T.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isInterface(T types.Type) bool {
	return T != nil && types.IsInterface(T) && !isTypeParam(T)
}

// under is the underlying type, and of a type parameter the one that all types of its constraint have, or an interface if they
// have several (the core type of the Go specification before 1.25).
func under(T types.Type) types.Type {
	p, ok := types.Unalias(T).(*types.TypeParam)
	if !ok {
		return T.Underlying()
	}
	constraint := p.Constraint().Underlying().(*types.Interface)
	var core types.Type
	for i := range constraint.NumEmbeddeds() {
		u := constraint.EmbeddedType(i)
		if union, ok := u.(*types.Union); ok {
			if union.Len() != 1 {
				return constraint
			}
			u = union.Term(0).Type()
		}
		if types.IsInterface(u) || core != nil {
			return constraint
		}
		core = u.Underlying()
	}
	if core == nil {
		return constraint
	}
	return core
}

// various reports whether values of T are of a type parameter whose types differ in kind.
func various(T types.Type) bool { return isTypeParam(T) && types.IsInterface(under(T)) }

// isSliceOf and isArray report about types whose memory has shadows.
func isSliceOf(T types.Type) bool {
	s, ok := under(T).(*types.Slice)
	return ok && holds(s.Elem())
}

func isArray(T types.Type) bool {
	if isTypeParam(T) {
		return false
	}
	_, ok := T.Underlying().(*types.Array)
	return ok
}

func isByteSlice(T types.Type) bool {
	s, ok := under(T).(*types.Slice)
	return ok && isByte(s.Elem())
}

func isByte(T types.Type) bool {
	b, ok := T.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// holds reports whether the memory of a T has scalars in it, not behind a pointer.
func holds(T types.Type) bool {
	if T == nil {
		return false
	}
	if various(T) {
		return true
	}
	switch u := under(T).(type) {
	case *types.Basic:
		_, ok := widths[u.Kind()]
		return ok
	case *types.Array:
		return u.Len() > 0 && holds(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if holds(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}

// aggregate reports whether values of T have shadows in memory only.
func aggregate(T types.Type) bool {
	_, ok := scalarOf(T)
	return !ok && holds(T)
}

// parametric reports whether the size of a T depends on a type parameter.
func parametric(T types.Type) bool {
	if isTypeParam(T) {
		return true
	}
	switch u := T.Underlying().(type) {
	case *types.Array:
		return parametric(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if parametric(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}

// tagOf numbers a signature: caller and callee compare it. The high half is for the numbers of arguments and results, the low one
// for their types, or 0 if some are type parameters. The receiver is no part of it, so that calls by an interface agree with the
// method.
func tagOf(sig *types.Signature) string {
	low := uint32(0)
	if !generic(sig) {
		var b bytes.Buffer
		for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
			b.WriteByte('(')
			for i := range tuple.Len() {
				types.WriteType(&b, tuple.At(i).Type(), nil)
				b.WriteByte(',')
			}
			b.WriteByte(')')
		}
		h := fnv.New32a()
		h.Write([]byte(synonyms.Replace(b.String())))
		low = h.Sum32()>>16 | 1
	}
	return strconv.FormatUint(uint64(uint32(1+sig.Params().Len())<<20|uint32(sig.Results().Len()&15)<<16|low), 10)
}

// synonyms are names of one type.
var synonyms = strings.NewReplacer("interface{}", "any", "byte", "uint8", "rune", "int32")

// generic reports whether a type mentions a type parameter, or an alias, by which the same type is written otherwise.
func generic(T types.Type) bool {
	if a, ok := T.(*types.Alias); ok && a.Obj().Pkg() != nil {
		return true
	}
	all := func(n int, at func(int) types.Type) bool {
		for i := range n {
			if generic(at(i)) {
				return true
			}
		}
		return false
	}
	switch t := types.Unalias(T).(type) {
	case *types.TypeParam:
		return true
	case *types.Named:
		return all(t.TypeArgs().Len(), t.TypeArgs().At)
	case *types.Map:
		return generic(t.Key()) || generic(t.Elem())
	case interface{ Elem() types.Type }:
		return generic(t.Elem())
	case *types.Signature:
		return generic(t.Params()) || generic(t.Results())
	case *types.Tuple:
		return all(t.Len(), func(i int) types.Type { return t.At(i).Type() })
	case *types.Struct:
		return all(t.NumFields(), func(i int) types.Type { return t.Field(i).Type() })
	}
	return false
}

// leads reports whether values of a type lead to other memory, where shadows may be.
func leads(T types.Type) bool {
	if T == nil {
		return false
	}
	switch u := under(T).(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer
	case *types.Signature, *types.Chan:
		return false
	case *types.Array:
		return leads(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if leads(u.Field(i).Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// bits is a constant as the uint64 that the same value in a variable converts to.
func bits(v constant.Value, s scalar) (string, bool) {
	if v.Kind() == constant.Bool {
		if constant.BoolVal(v) {
			return "1", true
		}
		return "0", true
	}
	v = constant.ToInt(v)
	if u, exact := constant.Uint64Val(v); exact {
		return strconv.FormatUint(u, 10), true
	}
	if i, exact := constant.Int64Val(v); exact {
		return strconv.FormatUint(uint64(i), 10), true
	}
	return "", false
}
