package syntax

// Any reports whether is holds of an expression, or of one that it is made of.
func Any(e Expr, is func(Expr) bool) bool {
	found := false
	Inspect(e, func(e Expr) bool {
		found = found || is(e)
		return !found
	})
	return found
}

// Inspect calls f with an expression and, if f returns true, with those that it is made of, from the outside in. Definitions within LET are not
// looked into.
func Inspect(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	all := func(list ...Expr) {
		for _, x := range list {
			Inspect(x, f)
		}
	}
	bounds := func(list []Bound) {
		for _, b := range list {
			Inspect(b.Set, f)
		}
	}
	fields := func(list []FieldValue) {
		for _, v := range list {
			Inspect(v.Value, f)
		}
	}
	switch e := e.(type) {
	case *Apply:
		for _, s := range e.Path {
			all(s.Args...)
		}
		all(e.Args...)
	case *Junction:
		all(e.Items...)
	case *Quantified:
		bounds(e.Bounds)
		all(e.Body)
	case *Choose:
		all(e.Bound.Set, e.Body)
	case *SetEnum:
		all(e.Items...)
	case *SetFilter:
		all(e.Bound.Set, e.Body)
	case *SetMap:
		bounds(e.Bounds)
		all(e.Body)
	case *FunctionOf:
		bounds(e.Bounds)
		all(e.Body)
	case *FunctionSet:
		all(e.Domain, e.Range)
	case *Index:
		all(e.Function)
		all(e.Args...)
	case *Field:
		all(e.Record)
	case *Record:
		fields(e.Fields)
	case *RecordSet:
		fields(e.Fields)
	case *Except:
		all(e.Function)
		for _, u := range e.Updates {
			for _, p := range u.Places {
				all(p...)
			}
			all(u.Value)
		}
	case *Tuple:
		all(e.Items...)
	case *Paren:
		all(e.Inner)
	case *Product:
		all(e.Sets...)
	case *Action:
		all(e.Body, e.Subscript)
	case *Fairness:
		all(e.Subscript, e.Body)
	case *If:
		all(e.Cond, e.Then, e.Else)
	case *Case:
		for _, a := range e.Arms {
			all(a.Cond, a.Value)
		}
		all(e.Other)
	case *Let:
		all(e.Body)
	case *Lambda:
		all(e.Body)
	}
}

// Primes reports whether an expression itself is about the next state. Operators that it uses may be, too.
func Primes(e Expr) bool {
	return Any(e, func(e Expr) bool {
		switch e := e.(type) {
		case *Action:
			return true
		case *Apply:
			return len(e.Path) == 0 && (e.Name == "'" || e.Name == "UNCHANGED")
		}
		return false
	})
}

// Names reports whether an expression, or one that it is made of, uses a name.
func Names(e Expr, name string) bool {
	return Any(e, func(e Expr) bool {
		a, ok := e.(*Apply)
		return ok && a.Name == name && len(a.Path) == 0
	})
}
