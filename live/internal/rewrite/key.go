package rewrite

import (
	"go/ast"
	"go/types"
)

// inMap is an element of a map. One whose key is made, if it is not there, is that of an assignment.
func (w *writer) inMap(e *ast.IndexExpr, made bool) value {
	m := under(w.info.TypeOf(e.X)).(*types.Map)
	x := w.pure(e.X)
	return w.plain(x.text+"["+w.key(e.Index, m, x.text, made)+"]", w.info.TypeOf(e))
}

// key is a key of a map, which text names. It is decided which of the map's keys it is, or none; one that is made when there is
// none is fixed. Keys of a literal, for which text is "", are fixed.
func (w *writer) key(e ast.Expr, m *types.Map, text string, made bool) string {
	v := w.pure(e)
	_, isNumber := scalarOf(m.Key())
	switch {
	case v.known || v.typ == nil:
	case v.s != "" && isNumber && text != "":
		w.emit("bh_key(%s, %s, %s, %s, %t)", w.site(e, "key"), text, v.s, v.num, made)
	case v.s != "":
		w.emit("bh_Fix(%s, %s, %s)", w.site(e, "key"), v.s, v.num)
	case isString(v.typ) && isString(m.Key()) && text != "":
		w.emit("bh_keyText(%s, %s, string(%s), %t)", w.site(e, "key"), text, v.text, made)
	case isString(v.typ):
		w.emit("bh_FixText(%s, string(%s))", w.site(e, "key"), v.text)
	case compound(v.typ) && types.Identical(v.typ, m.Key()) && text != "":
		v = w.addressed(v)
		w.emit("bh_keyValue(%s, %s, %s, &%s, %t)", w.site(e, "key"), text, v.addr, v.text, made)
	case compound(v.typ):
		v = w.addressed(v)
		w.emit("bh_FixKey(%s, %s, bh_any(&%s))", w.site(e, "key"), v.addr, v.text)
	}
	return w.assignable(e, v, m.Key()).text
}
