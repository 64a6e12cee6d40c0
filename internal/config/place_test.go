package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// What the machine lacks is reported where the configuration asks for it.
func TestLocate(t *testing.T) {
	dir := project(t, `bloodhound.yaml
compose: compose.yaml
x-command: &anchor [server, -v]
nodes:
  a: {command: [app, -x], working_dir: /w, user: joe, root: ./fs}
  b:
    command: app
    entrypoint: ["tini", "--"]
    volumes:
      - v:/v
      - ./data:/data:ro
    tmpfs: [/scratch]
  c: {command: *anchor, healthcheck: {test: [CMD, probe]}}
  d: {command: *anchor}
workload: {driver: command, name: w, command: load -q}
properties:
  - {name: p, kind: safety, check: {type: custom, script: ./check.sh}}
output: {dir: out}
debug: {trace_file: trace.txt}
simulation: {cpus: 2}
`, `compose.yaml
services:
  db:
    command: postgres
`)
	r := loaded(t, Options{Path: dir})
	for _, c := range []struct {
		m    engine.Mistake
		want string
	}{
		{engine.Mistake{Node: "a", Part: engine.PartCommand},
			"bloodhound.yaml:4:17: nodes.a.command: P\n      a: {command: [app, -x], working_dir: /w, user: joe, root: ./fs}\n                    ^\n  R"},
		{engine.Mistake{Node: "a", Part: engine.PartWorkingDir}, "bloodhound.yaml:4:40: nodes.a.working_dir: P"},
		{engine.Mistake{Node: "a", Part: engine.PartUser}, "bloodhound.yaml:4:50: nodes.a.user: P"},
		{engine.Mistake{Node: "a", Part: engine.PartRoot}, "bloodhound.yaml:4:61: nodes.a.root: P"},
		{engine.Mistake{Node: "b", Part: engine.PartCommand}, "bloodhound.yaml:7:18: nodes.b.entrypoint: P"},
		{engine.Mistake{Node: "b", Part: engine.PartVolume, Name: "/data"}, "bloodhound.yaml:10:9: nodes.b.volumes: P"},
		{engine.Mistake{Node: "b", Part: engine.PartVolume, Name: "/scratch"}, "bloodhound.yaml:11:12: nodes.b.tmpfs: P"},
		{engine.Mistake{Node: "b", Part: engine.PartVolume}, "bloodhound.yaml:9:9: nodes.b.volumes: P"},
		{engine.Mistake{Node: "b", Part: engine.PartWorkingDir}, "bloodhound.yaml:5:3: nodes.b: P"}, // its default
		{engine.Mistake{Node: "c", Part: engine.PartHealthcheck}, "bloodhound.yaml:12:51: nodes.c.healthcheck.test: P"},
		{engine.Mistake{Node: "db", Part: engine.PartCommand}, "compose.yaml:3:14: services.db.command: P"},
		{engine.Mistake{Part: engine.PartWorkload, Name: "w"}, "bloodhound.yaml:14:47: workload.command: P"},
		{engine.Mistake{Part: engine.PartSimulation, Name: "cpus"}, "bloodhound.yaml:19:20: simulation.cpus: P"},
		{engine.Mistake{Part: engine.PartProperty, Name: "p"}, "bloodhound.yaml:16:59: properties[0].check.script: P"},
		{engine.Mistake{Node: "checker", Part: engine.PartWorkingDir}, "bloodhound.yaml: node checker: P\n  R"}, // of our own
	} {
		c.m.Problem, c.m.Remedy = "P", "R"
		got := strings.ReplaceAll(r.Locate(engine.Mistakes{c.m}).Error(), dir+string(filepath.Separator), "")
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v is reported as\n%s\nwant\n%s", c.m, got, c.want)
		}
	}
	same := engine.Mistakes{{Node: "d", Part: engine.PartCommand, Problem: "P"}, {Node: "c", Part: engine.PartCommand, Problem: "P"}}
	if got := r.Locate(same); len(got) != 1 || got[0].Line != 2 {
		t.Errorf("two nodes of one anchor: %v", got)
	}
	for key, line := range map[string]int{"output.dir": 17, "debug.trace_file": 18} {
		if got := r.Mistake(key, "P", "R"); got.Line != line || got.Message != key+": P" {
			t.Errorf("%s: %v", key, got)
		}
	}
}
