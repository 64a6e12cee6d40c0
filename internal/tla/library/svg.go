package library

import (
	"math"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

var svgModule = map[string]*Builtin{
	"SVGElemToString": {One: func(v value.Value) value.Value {
		var b strings.Builder
		element(&b, v)
		return value.Text(b.String())
	}},
	// The place of number n of m on a circle.
	"NodeOfRingNetwork": effect(5, func(args []value.Value) value.Value {
		n := make([]float64, len(args))
		for i, v := range args {
			n[i] = float64(Integer(v))
		}
		angle := 2 * math.Pi / n[4] * n[3]
		return pixel(int64(n[0]+n[2]*math.Cos(angle)), int64(n[1]+n[2]*math.Sin(angle)))
	}),
	"PointOnLine": {Three: func(from, to, segment value.Value) value.Value {
		parts := Integer(segment)
		if parts == 0 {
			value.Fail("PointOnLine: the number of segments is 0")
		}
		at := func(name string) int64 {
			a, b := Integer(value.Apply(from, value.Text(name))), Integer(value.Apply(to, value.Text(name)))
			return int64(float64(a) + float64(b-a)/float64(parts))
		}
		return pixel(at("x"), at("y"))
	}},
	// The nodes in the order of their values, around the middle of the picture: edges and the options of other layouts say nothing here.
	"NodesOfDirectedMultiGraph": {Three: func(nodes, _, options value.Value) value.Value {
		size := func(name string) float64 { return float64(Integer(value.Apply(options, value.Text(name)))) }
		x, y := (size("view_width")-size("node_width"))/2, (size("view_height")-size("node_height"))/2
		list := value.Explicit(nodes).Items
		places := make([]value.Value, len(list))
		for i := range list {
			angle := 2 * math.Pi / float64(len(list)) * float64(i)
			places[i] = pixel(int64(x+x*math.Cos(angle)), int64(y+y*math.Sin(angle)))
		}
		return value.NewFunction(value.Explicit(nodes), places)
	}},
}

func pixel(x, y int64) value.Value {
	return value.NewRecord([]*value.String{value.Text("x"), value.Text("y")}, []value.Value{value.Int(x), value.Int(y)})
}

// inXML lets tuples stand in text. As in TLC, other text is written as it is: it may be of elements and entities.
var inXML = strings.NewReplacer("<<", "&lt;&lt;", ">>", "&gt;&gt;")

// element writes a record [name, attrs, children, innerText] as XML.
func element(b *strings.Builder, v value.Value) {
	field := func(name string) value.Value { return value.Apply(v, value.Text(name)) }
	name, attributes := Text(field("name")), field("attrs")
	b.WriteString("<" + name)
	value.Each(value.Domain(attributes), func(n value.Value) bool {
		b.WriteString(" " + strings.ReplaceAll(Text(n), "_", "-") + "='" + Text(value.Apply(attributes, n)) + "'")
		return true
	})
	b.WriteString(">" + inXML.Replace(Text(field("innerText"))))
	children := field("children")
	value.Each(value.Domain(children), func(i value.Value) bool { element(b, value.Apply(children, i)); return true })
	b.WriteString("</" + name + ">")
}
