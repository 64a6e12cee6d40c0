package value

// excepted is a function over a domain that is too large to be written out, with one value replaced.
type excepted struct {
	Applicable
	argument, value Value
}

// Of is the function's value for an argument of its domain.
func (f *excepted) Of(x Value) Value {
	if Equal(x, f.argument) {
		return f.value
	}
	return f.Applicable.Of(x)
}

func (f *excepted) String() string {
	return "[" + f.Applicable.String() + " EXCEPT ![" + f.argument.String() + "] = " + f.value.String() + "]"
}

// exceptOf is a function by its rule with the value for x changed, as Replace.
func exceptOf(f Applicable, x Value, change func(Value) Value) Value {
	domain := f.Arguments()
	if Size(domain) <= Most {
		return Replace(f.Spelled(), x, change)
	}
	if !Contains(domain, x) {
		return f
	}
	return &excepted{f, x, change(f.Of(x))}
}
