package rewrite

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// model describes the effect on shadows of a function of the standard library that has no second body to call, because
// the compiler replaces it by instructions, or because it is written in assembly.
type model struct {
	// result is the shadow of the result.
	result func(args []value) string
	// before is a statement that comes before the call.
	before func(w *writer, c *ast.CallExpr, args []value) string
	// after is a statement that follows the call.
	after func(args []value) string
}

// models are the functions by their full names.
var models = standardModels()

func standardModels() map[string]model {
	models := map[string]model{
		// A check that fails is a side of a branch.
		"github.com/bloodhound-dst/bloodhound/live.Check": {before: func(w *writer, c *ast.CallExpr, args []value) string {
			return "bh_Cond(" + w.site(c, "check") + ", " + args[1].text + ", " + orNil(args[1].s) + ")"
		}},
	}
	for _, size := range []int{16, 32, 64} {
		for order, little := range map[string]bool{"bigEndian": false, "littleEndian": true} {
			recv := fmt.Sprintf("(encoding/binary.%s).", order)
			plain := "internal/byteorder.BE"
			get, put := "Big", "PutBig"
			if little {
				get, put, plain = "Load", "Store", "internal/byteorder.LE"
			}
			for _, prefix := range []string{recv, plain} {
				models[fmt.Sprintf("%sUint%d", prefix, size)] = model{result: func(args []value) string {
					return fmt.Sprintf("bh_%s(bh_data(%s), %d)", get, args[0].text, size/8)
				}}
				models[fmt.Sprintf("%sPutUint%d", prefix, size)] = model{after: func(args []value) string {
					return fmt.Sprintf("bh_%s(bh_data(%s), %d, %s)", put, args[0].text, size/8, orNil(args[1].s))
				}}
			}
		}
	}
	for name, call := range map[string]string{"OnesCount": "Ones", "Len": "Length", "LeadingZeros": "LeadingZeros",
		"TrailingZeros": "TrailingZeros", "ReverseBytes": "ReverseBytes"} {
		for _, size := range []string{"", "8", "16", "32", "64"} {
			models["math/bits."+name+size] = model{result: func(args []value) string {
				if args[0].s == "" {
					return ""
				}
				return "bh_" + call + "(" + args[0].s + ")"
			}}
		}
	}
	both := func(call string) func(args []value) string {
		return func(args []value) string {
			return fmt.Sprintf("bh_%s(%s, %s)", call, asText(args[0]), asText(args[1]))
		}
	}
	models["bytes.Equal"] = model{result: both("TextEqual")}
	for _, name := range []string{"bytes.Compare", "strings.Compare", "internal/bytealg.Compare", "internal/bytealg.CompareString"} {
		models[name] = model{result: both("Compare")}
	}
	for _, name := range []string{"bytes.IndexByte", "strings.IndexByte", "internal/bytealg.IndexByte", "internal/bytealg.IndexByteString"} {
		models[name] = model{result: func(args []value) string {
			data := "bh_data(" + args[0].text + ")"
			if isString(args[0].typ) {
				data = "bh_text(" + args[0].text + ")"
			}
			return fmt.Sprintf("bh_Find(%s, len(%s), %s, %s)", data, args[0].text, orNil(args[1].s), args[1].text)
		}}
	}
	for _, name := range []string{"internal/bytealg.Index", "internal/bytealg.IndexString"} {
		models[name] = model{result: both("Search")}
	}
	for _, name := range []string{"internal/bytealg.Count", "internal/bytealg.CountString"} {
		models[name] = model{result: func(args []value) string {
			return fmt.Sprintf("bh_Times(%s, %s, %s)", asText(args[0]), orNil(args[1].s), args[1].text)
		}}
	}
	return models
}

// asText is a string, or bytes as one that shares their memory.
func asText(v value) string {
	if isString(v.typ) {
		return "string(" + v.text + ")"
	}
	return "bh_string(" + v.text + ")"
}

// modelled writes a call of a function that has a model.
func (w *writer) modelled(c *ast.CallExpr, s *types.Signature, m model, args []value, statement bool) []value {
	for i := range args {
		if !args[i].known {
			args[i] = w.hold(args[i])
		}
	}
	w.called = ast.Unparen(c.Fun)
	call := w.pure(c.Fun).text + "(" + strings.TrimPrefix(texts(" ", args), " ") + ellipsis(c) + ")"
	if m.before != nil {
		w.emit("%s", m.before(w, c, args))
	}
	list := w.results(call, s, "", statement)
	w.emit("bh_Ignore()") // the model knows the result, whatever a second body gives
	if m.after != nil {
		w.emit("%s", m.after(args))
	}
	if m.result != nil && len(list) == 1 {
		if r := m.result(args); r != "" {
			list[0].s = w.shadow(r)
		}
	}
	return list
}
