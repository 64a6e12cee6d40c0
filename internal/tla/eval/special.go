package eval

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// specials are operators that get operators as arguments, ask how the check continues, or read logs, by their modules.
var specials = map[string]map[string]compiles{
	"Sequences": {
		"SelectSeq": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 2, u)
			s := c.expr(u.args[0], u.from)
			f, n := c.operand(u.args[1], u.from, 1, u.at)
			at := u.at
			return node{eval: func(x *ctx) value.Value {
				var list []value.Value
				seq := s.eval(x)
				x.m.at = at
				for _, v := range value.Items(seq) {
					keep := f(x, v)
					x.m.at = at
					if library.Boolean(keep) {
						list = append(list, v)
					}
				}
				return value.NewTuple(list)
			}}.dependingOn(s, n)
		},
	},
	"Bags": {
		"BagOfAll": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 2, u)
			f, n := c.operand(u.args[0], u.from, 1, u.at)
			at := u.at
			b := c.expr(u.args[1], u.from)
			return node{eval: func(x *ctx) value.Value {
				bag := b.eval(x)
				x.m.at = at
				sum := value.Value(value.EmptyTuple)
				value.Each(value.Domain(bag), func(e value.Value) bool {
					image := library.Settled(f(x, e))
					sum = library.BagSum(sum, value.FunctionOf([]value.Value{image}, []value.Value{value.Int(library.Copies(bag, e))}), 1)
					return true
				})
				return sum
			}}.dependingOn(n, b)
		},
	},
	"TLC": {
		"Print": func(c *compiler, d *scope.Def, u call) node {
			return printed(c, d, u, 2, func(v []value.Value) value.Value { return v[1] })
		},
		"PrintT": func(c *compiler, d *scope.Def, u call) node {
			return printed(c, d, u, 1, func([]value.Value) value.Value { return value.Bool(true) })
		},
		"Assert": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 2, u)
			args := c.all(u.args, u.from)
			holds, at := args[0].truth(u.at), u.at
			return testNode(func(x *ctx) bool {
				if !holds(x) {
					message := args[1].eval(x)
					x.m.at = at
					said := value.Short(message)
					panic(&value.Error{Message: "Assert is false: " + said, Asserted: said})
				}
				return true
			}, args...)
		},
		"JavaTime": func(c *compiler, d *scope.Def, u call) node {
			return node{fresh: true, eval: func(*ctx) value.Value { return value.Int(0) }}
		},
		"SortSeq": sortSeq,
		"TLCGet": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 1, u)
			key := c.expr(u.args[0], u.from)
			c.reads(key)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				k := key.eval(x)
				x.m.at = at
				return x.m.tlc.get(k)
			}}.dependingOn(key)
		},
		"TLCSet": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 2, u)
			args := c.all(u.args, u.from)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				k, v := args[0].eval(x), library.Settled(args[1].eval(x))
				x.m.at = at
				x.m.tlc.set(k, v)
				return value.Bool(true)
			}}.dependingOn(args...)
		},
	},
	"TLCExt": {
		"CounterExample": counterExample,
		"TLCGetOrDefault": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 2, u)
			args := c.all(u.args, u.from)
			c.reads(args[0])
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				return x.m.tlc.getOr(args[0].eval(x), args[1].eval(x), x.m, at)
			}}.dependingOn(args...)
		},
		"TLCGetAndSet": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 4, u)
			key, val, other := c.expr(u.args[0], u.from), c.expr(u.args[2], u.from), c.expr(u.args[3], u.from)
			f, n := c.operand(u.args[1], u.from, 2, u.at)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				k := key.eval(x)
				old := x.m.tlc.getOr(k, other.eval(x), x.m, at)
				v := library.Settled(f(x, old, val.eval(x)))
				x.m.at = at
				x.m.tlc.set(k, v)
				return old
			}}.dependingOn(key, val, other, n)
		},
		"AssertError":   assertError,
		"PickSuccessor": pickSuccessor,
		"TLCDefer":      deferred,
		"Trace":         trace,
	},
	"Folds": {
		"MapThenFoldSet": mapThenFoldSet,
	},
	"GraphViz": {
		"DotDiGraph": dotDiGraph,
	},
	"IOUtils": {
		"IOEnv": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 0, u)
			logs := c.logs
			return node{eval: func(*ctx) value.Value { return logs.Environment() }}
		},
	},
	"Json": {
		"JsonDeserialize": readsLog(func(r *ndjson.Log) value.Value {
			if n := len(r.Items.Items); n != 1 {
				value.Fail("%q has %d JSON values: JsonDeserialize reads one, ndJsonDeserialize more", r.File, n)
			}
			return r.Items.Items[0]
		}),
		"ndJsonDeserialize": readsLog(func(r *ndjson.Log) value.Value { return r.Items }),
	},
	"Statistics": {
		"ChiSquare": func(c *compiler, d *scope.Def, u call) node {
			c.arity(d, 3, u)
			args, at := c.all(u.args, u.from), u.at
			return testNode(func(x *ctx) bool {
				values := evalAll(x, args)
				x.m.at = at
				return library.ChiSquare(values[0], values[1], library.Text(values[2]))
			}, args...)
		},
	},
}

func init() {
	for module, operators := range specials {
		for name, f := range operators {
			library.Modules[module][name] = &library.Builtin{Special: f}
		}
	}
}

// dotDiGraph is a graph [node, edge] in the language of Graphviz. The names of nodes there are fingerprints.
func dotDiGraph(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 3, u)
	graph := c.expr(u.args[0], u.from)
	ofNode, n1 := c.operand(u.args[1], u.from, 1, u.at)
	ofEdge, n2 := c.operand(u.args[2], u.from, 1, u.at)
	at := u.at
	return node{eval: func(x *ctx) value.Value {
		g := graph.eval(x)
		x.m.at = at
		var b strings.Builder
		name := func(v value.Value) string { return strconv.FormatInt(int64(v.Fingerprint()), 10) }
		b.WriteString("digraph MyGraph {")
		value.Each(value.Explicit(value.Apply(g, value.Text("node"))), func(v value.Value) bool {
			fmt.Fprintf(&b, "%s[label=%s];", name(v), ofNode(x, v))
			return true
		})
		value.Each(value.Explicit(value.Apply(g, value.Text("edge"))), func(e value.Value) bool {
			ends := value.Items(e)
			if len(ends) < 2 {
				value.Fail("DotDiGraph: the edge %s has no two ends", value.Short(e))
			}
			fmt.Fprintf(&b, "%s->%s[label=%s];", name(ends[0]), name(ends[1]), ofEdge(x, e))
			return true
		})
		return value.Text(b.String() + "}")
	}}.dependingOn(graph, n1, n2)
}

func mapThenFoldSet(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 5, u)
	step, n1 := c.operand(u.args[0], u.from, 2, u.at)
	base := c.expr(u.args[1], u.from)
	image, n2 := c.operand(u.args[2], u.from, 1, u.at)
	pick, n3 := c.operand(u.args[3], u.from, 1, u.at)
	set := c.expr(u.args[4], u.from)
	return node{eval: func(x *ctx) value.Value {
		var order []value.Value
		for left := value.Value(value.Explicit(set.eval(x))); value.Size(left) > 0; {
			v := pick(x, left)
			order = append(order, v)
			if !value.Contains(left, v) {
				value.Fail("MapThenFoldSet: %s was chosen, which is not in the set %s", value.Short(v), value.Short(left))
			}
			left = value.Difference(left, value.SortedSet([]value.Value{v}))
		}
		sum := base.eval(x)
		for i := len(order) - 1; i >= 0; i-- {
			sum = step(x, image(x, order[i]), sum)
		}
		return sum
	}}.dependingOn(n1, base, n2, n3, set)
}

// readsLog is an operator that reads a file of JSON values.
func readsLog(of func(*ndjson.Log) value.Value) func(c *compiler, d *scope.Def, u call) node {
	return func(c *compiler, d *scope.Def, u call) node {
		c.arity(d, 1, u)
		args, at, logs := c.all(u.args, u.from), u.at, c.logs
		return node{eval: func(x *ctx) value.Value {
			file := args[0].eval(x)
			x.m.at = at
			return of(logs.Open(library.Text(file)))
		}}.dependingOn(args...)
	}
}
