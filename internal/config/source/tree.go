package source

// Kind is how a value is written.
type Kind int

const (
	Scalar Kind = iota
	List
	Mapping
	Null
)

func (k Kind) String() string {
	return [...]string{"a single value", "a list", "a mapping", "nothing"}[k]
}

// Node is a value of a file, with aliases and merge keys resolved.
type Node struct {
	Position
	Kind    Kind
	Text    string // scalar
	Items   []*Node
	Entries []*Entry
	// Value is a scalar as check has read it, or a list that stands for one value (a range, variables).
	Value any
	// Bad says that a mistake was found in it, so that nothing is built on it.
	Bad bool
	// Incomplete says that a key of this mapping is unknown. It may be another one misspelt, so that no error is reported
	// about missing keys.
	Incomplete bool
}

// Entry is one key of a mapping.
type Entry struct {
	Key   *Node
	Name  string // the key's text; check sets the usual spelling where several are accepted
	Value *Node
	// Implied says that Compose adds it and no file has it.
	Implied bool
}

// Get returns the value of a key, or nil when it is absent or bad.
func (n *Node) Get(name string) *Node {
	if e := n.Entry(name); e != nil && !e.Value.Bad {
		return e.Value
	}
	return nil
}

// Has reports whether a key is there, even with a bad value.
func (n *Node) Has(name string) bool { return n.Entry(name) != nil }

// Entry finds the entry of a key, or returns nil.
func (n *Node) Entry(name string) *Entry {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// In copies a value as one of another file, with the same places.
func (n *Node) In(f *File) *Node {
	c := *n
	c.File = f
	c.Items, c.Entries = nil, nil
	for _, item := range n.Items {
		c.Items = append(c.Items, item.In(f))
	}
	for _, e := range n.Entries {
		c.Entries = append(c.Entries, &Entry{Key: e.Key.In(f), Name: e.Name, Value: e.Value.In(f), Implied: e.Implied})
	}
	return &c
}

// List returns the items that are sound.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	var sound []*Node
	for _, i := range n.Items {
		if !i.Bad {
			sound = append(sound, i)
		}
	}
	return sound
}

// EntriesOf returns the entries of a mapping that may not be there.
func (n *Node) EntriesOf() []*Entry {
	if n == nil {
		return nil
	}
	return n.Entries
}

// ValueOr returns what check made of a node, or something else where there is none.
func ValueOr[T any](n *Node, otherwise T) T {
	if n != nil && !n.Bad {
		if v, ok := n.Value.(T); ok {
			return v
		}
	}
	return otherwise
}
