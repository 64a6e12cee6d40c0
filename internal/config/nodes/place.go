package nodes

import (
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// rememberParts keeps where the parts of a node were written that a machine may lack.
func rememberParts(l *load.State, d *load.Node) {
	for _, part := range []struct {
		name engine.Part
		keys []string // the last one that is there counts
	}{
		{engine.PartCommand, []string{"command", "entrypoint"}},
		{engine.PartWorkingDir, []string{"working_dir"}},
		{engine.PartUser, []string{"user"}},
		{engine.PartRoot, []string{"root"}},
		{engine.PartVolume, []string{"tmpfs", "volumes"}},
	} {
		l.Places[load.Place{Node: d.Name, Part: part.name}] = load.Location{Position: d.At, Key: d.Key}
		for _, key := range part.keys {
			l.Remember(load.Place{Node: d.Name, Part: part.name}, d.Value.Get(key), d.Key+"."+key)
		}
	}
	for i, hook := range d.Value.Get("post_start").List() {
		l.Remember(load.Place{Node: d.Name, Part: engine.PartPostStart, Name: strconv.Itoa(i)}, hook.Get("command"), d.Key+".post_start")
	}
	test := d.Value.Get("healthcheck").Get("test")
	if words := test.List(); len(words) > 1 {
		test = words[1] // after CMD
	}
	l.Remember(load.Place{Node: d.Name, Part: engine.PartHealthcheck}, test, d.Key+".healthcheck.test")
}
