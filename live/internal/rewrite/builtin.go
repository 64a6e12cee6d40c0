package rewrite

import (
	"go/ast"
	"go/types"
	"strings"
)

// builtinCall writes a call of a built-in function that has effects, or that a statement consists of.
func (w *writer) builtinCall(c *ast.CallExpr, name string, statement bool) []value {
	T := w.info.TypeOf(c)
	for _, a := range c.Args {
		w.hoist(a)
	}
	switch name {
	case "append":
		return []value{w.appends(c, T)}
	case "copy":
		return []value{w.copies(c, T, statement)}
	case "clear":
		x := w.pure(c.Args[0])
		w.emit("clear(%s)", x.text)
		if s, ok := under(w.info.TypeOf(c.Args[0])).(*types.Slice); ok && holds(s.Elem()) {
			w.emit("bh_Clear(bh_data(%s), uintptr(len(%s))*bh_sizeofElement(%s))", x.text, x.text, x.text)
		}
		return nil
	case "new":
		return []value{w.news(c, T)}
	case "make":
		return []value{w.makes(c, T)}
	case "delete":
		m := w.pure(c.Args[0])
		m.text = w.temp(m.text)
		key := w.key(c.Args[1], under(w.info.TypeOf(c.Args[0])).(*types.Map), m.text, false)
		w.emit("delete(%s, %s)", m.text, key)
		return nil
	}
	if w.quiet(c) {
		return []value{w.quietBuiltin(c)}
	}
	var args []value
	for _, a := range c.Args {
		v := w.pure(a)
		w.loseAll(c, v)
		args = append(args, v)
	}
	text := w.src(c.Fun) + "(" + strings.TrimPrefix(texts(" ", args), " ") + ")"
	if statement || T == nil || isTuple(T) {
		w.emit("%s", text)
		return nil
	}
	return []value{w.plain(w.temp(text), T)} // recover
}

func (w *writer) news(c *ast.CallExpr, T types.Type) value {
	elem := deref(T)
	if !w.info.Types[c.Args[0]].IsType() { // new(value), of Go 1.26
		v := w.pure(c.Args[0])
		t := w.temp(w.src(c.Fun) + "(" + v.text + ")")
		w.store("(*"+t+")", elem, v)
		return value{text: t, typ: T}
	}
	t := w.temp(w.src(c))
	if holds(elem) {
		w.emit("bh_Clear(bh_p(%s), %s)", t, w.size(elem, "(*"+t+")"))
	}
	return value{text: t, typ: T}
}

func (w *writer) makes(c *ast.CallExpr, T types.Type) value {
	args := []string{w.src(c.Args[0])}
	for _, a := range c.Args[1:] {
		v := w.pure(a)
		if isTypeParam(v.typ) {
			w.loseAll(a, v)
		}
		if v.s != "" {
			v = w.hold(v)
			w.emit("bh_Fix(%s, %s, %s)", w.site(a, "length"), v.s, v.num)
		}
		args = append(args, v.text)
	}
	t := w.temp("make(" + strings.Join(args, ", ") + ")")
	if s, ok := under(T).(*types.Slice); ok && holds(s.Elem()) {
		w.emit("bh_Clear(bh_data(%s), uintptr(cap(%s))*bh_sizeofElement(%s))", t, t, t)
	}
	return value{text: t, typ: T}
}

// appends writes append: what the old slice has moves if the new one is elsewhere, and elements follow.
func (w *writer) appends(c *ast.CallExpr, T types.Type) value {
	s, ok := under(T).(*types.Slice)
	var args []value
	base := w.pure(c.Args[0])
	var elem types.Type
	if ok {
		elem = s.Elem()
	}
	shadowed := ok && holds(elem)
	for _, a := range c.Args[1:] {
		v := w.pure(a)
		if !c.Ellipsis.IsValid() {
			v = w.assignable(a, v, elem)
		}
		if shadowed && !c.Ellipsis.IsValid() {
			v = w.hold(v)
		}
		args = append(args, v)
	}
	if !shadowed || base.known || len(args) == 0 {
		for _, v := range args {
			if !ok {
				w.loseAll(c, v)
			} else {
				w.lose(c, v)
			}
		}
		return value{text: w.temp("append(" + base.text + texts(", ", args) + ellipsis(c) + ")"), typ: T}
	}
	old := w.temp(base.text)
	if c.Ellipsis.IsValid() {
		more := args[0]
		if !more.known {
			more.text = w.temp(more.text)
		}
		t := w.temp("append(" + old + ", " + more.text + "...)")
		w.emit("bh_Copy(bh_data(%s), bh_data(%s), uintptr(len(%s))*bh_sizeofElement(%s))", t, old, old, t)
		switch {
		case more.typ == nil || more.known && !isString(more.typ):
		case isString(more.typ):
			w.emit("bh_TextCopy(bh_data(%s[len(%s):]), string(%s), len(%s))", t, old, more.text, more.text)
		default:
			w.emit("bh_Copy(bh_data(%s[len(%s):]), bh_data(%s), uintptr(len(%s))*bh_sizeofElement(%s))", t, old, more.text, more.text, t)
		}
		return value{text: t, typ: T}
	}
	t := w.temp("append(" + old + texts(", ", args) + ")")
	w.emit("bh_Copy(bh_data(%s), bh_data(%s), uintptr(len(%s))*bh_sizeofElement(%s))", t, old, old, t)
	for i, v := range args {
		w.store(t+"[len("+old+")+"+itoa(i)+"]", elem, v)
	}
	return value{text: t, typ: T}
}

func (w *writer) copies(c *ast.CallExpr, T types.Type, statement bool) value {
	d, s := w.pure(c.Args[0]), w.pure(c.Args[1])
	dst := w.temp(d.text)
	src := s.text
	if !s.known {
		src = w.temp(s.text)
	}
	n := w.temp("copy(" + dst + ", " + src + ")")
	v := w.plain(n, T)
	if various(w.info.TypeOf(c.Args[0])) || various(w.info.TypeOf(c.Args[1])) {
		s.text = src
		w.loseAll(c, s)
		return v
	}
	slice, ok := under(w.info.TypeOf(c.Args[0])).(*types.Slice)
	switch {
	case !ok || !holds(slice.Elem()):
	case isString(w.info.TypeOf(c.Args[1])):
		w.emit("bh_TextCopy(bh_data(%s), string(%s), %s)", dst, src, n)
	default:
		w.emit("bh_Copy(bh_data(%s), bh_data(%s), uintptr(%s)*bh_sizeofElement(%s))", dst, src, n, dst)
	}
	return v
}
