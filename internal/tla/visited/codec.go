package visited

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// codec spells values as bytes for this process alone: texts and model values, of which there are few, are numbered. What it does not know, such as a set
// that is symbolic or a function that is a rule, stays in memory and is numbered too.
type codec struct {
	numbers map[value.Value]uint64 // of strings and model values
	atoms   []value.Value
	shapes  map[string]uint64 // names of records, as their numbers are spelt
	names   [][]*value.String
	kept    map[uint64]value.Value // what is not known; until it is read again
	keeps   uint64
}

func newCodec() *codec {
	return &codec{numbers: map[value.Value]uint64{}, shapes: map[string]uint64{}, kept: map[uint64]value.Value{}}
}

// Kinds of values, as their first byte.
const (
	codeFalse = iota
	codeTrue
	codeInt
	codeAtom
	codeTuple
	codeRecord
	codeSet
	codeFunction
	codeKept
)

func (c *codec) append(b []byte, v value.Value) []byte {
	switch v := v.(type) {
	case value.Bool:
		if v {
			return append(b, codeTrue)
		}
		return append(b, codeFalse)
	case value.Int:
		return binary.AppendVarint(append(b, codeInt), int64(v))
	case *value.String, *value.Model:
		return binary.AppendUvarint(append(b, codeAtom), c.atom(v))
	case *value.Tuple:
		return c.appendAll(append(b, codeTuple), v.Items)
	case *value.Record:
		b = binary.AppendUvarint(append(b, codeRecord), c.shape(v.Names))
		for _, x := range v.Values {
			b = c.append(b, x)
		}
		return b
	case *value.Set:
		return c.appendAll(append(b, codeSet), v.Items)
	case *value.Function:
		b = c.appendAll(append(b, codeFunction), v.Domain.Items)
		for _, x := range v.Values {
			b = c.append(b, x)
		}
		return b
	}
	c.keeps++
	c.kept[c.keeps] = v
	return binary.AppendUvarint(append(b, codeKept), c.keeps)
}

func (c *codec) appendAll(b []byte, list []value.Value) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = c.append(b, v)
	}
	return b
}

// atom is the number of a string or a model value.
func (c *codec) atom(v value.Value) uint64 {
	n, known := c.numbers[v]
	if !known {
		n = uint64(len(c.atoms))
		c.numbers[v] = n
		c.atoms = append(c.atoms, v)
	}
	return n
}

// shape is the number of the names of a record.
func (c *codec) shape(names []*value.String) uint64 {
	var spelt [64]byte
	b := spelt[:0]
	for _, name := range names {
		b = binary.AppendUvarint(b, c.atom(name))
	}
	n, known := c.shapes[string(b)]
	if !known {
		n = uint64(len(c.names))
		c.shapes[string(b)] = n
		c.names = append(c.names, names)
	}
	return n
}

// decoding reads what a codec has spelt.
type decoding struct {
	*codec
	b []byte
}

func (d *decoding) number() int {
	n, size := binary.Uvarint(d.b)
	d.b = d.b[size:]
	return int(n)
}

func (d *decoding) value() value.Value {
	code := d.b[0]
	d.b = d.b[1:]
	switch code {
	case codeFalse:
		return value.Bool(false)
	case codeTrue:
		return value.Bool(true)
	case codeInt:
		n, size := binary.Varint(d.b)
		d.b = d.b[size:]
		return value.Int(n)
	case codeAtom:
		return d.atoms[d.number()]
	case codeTuple:
		if n := d.number(); n > 0 {
			return value.NewTuple(d.values(n))
		}
		return value.EmptyTuple
	case codeRecord:
		names := d.names[d.number()]
		return value.NewRecord(names, d.values(len(names)))
	case codeSet:
		return value.SortedSet(d.values(d.number()))
	case codeFunction:
		domain := value.SortedSet(d.values(d.number()))
		return value.NewFunction(domain, d.values(len(domain.Items)))
	}
	n := uint64(d.number())
	v := d.kept[n]
	delete(d.kept, n)
	return v
}

func (d *decoding) values(n int) []value.Value {
	list := make([]value.Value, n)
	for i := range list {
		list[i] = d.value()
	}
	return list
}
