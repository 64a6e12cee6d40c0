package config

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// A node with `count` is what its nodes are when they are written one by one, but for the name that they share.
func TestCount(t *testing.T) {
	rest := func(group, faults string) string {
		return `
  web: {command: "serve {{.Name}}", depends_on: [` + group + `]}
workload: {driver: http, config: {target: ["http://db1:80", "http://db3:80"]}}
properties: [{name: same, kind: safety, check: {type: agreement, endpoint: "http://{node}:80/", nodes: [` + group + `]}}]
faults: {rules: [` + faults + `]}
`
	}
	byHand := "bloodhound.yaml\nnodes:\n"
	for _, n := range []string{"1 db2,db3 -first", "2 db1,db3", "3 db1,db2"} {
		words := append(strings.Fields(n), "")
		name := "db" + words[0]
		byHand += "  " + name + ": {command: \"serve " + name + " " + words[0] + " of 3 db1=db1:90;db2=db2:90;db3=db3:90 -join=" + words[1] + " " + words[2] +
			"\", environment: {ME: " + name + "}, volumes: [\"" + name + ":/data\"], clock: {offset: " + words[0] +
			"ms}, container_name: c" + words[0] + `, healthcheck: {test: [CMD, check, "` + name + "\"]}}\n"
	}
	const counted = "bloodhound.yaml\nnodes:\n" + `
  db:
    count: ${COPIES}
    command: serve {{.Name}} {{.Index}} of {{.Count}} {{range $i, $n := .Nodes.Each "{}={}:90"}}{{if $i}};{{end}}{{$n}}{{end}} -join={{.Peers}} {{if eq .Index 1}}-first{{end}}
    environment: {ME: "{{.Name}}"}
    volumes: ["{{.Name}}:/data"]
    clock: {offset: "{{.Index}}ms"}
    container_name: c{{.Index}}
    healthcheck: {test: [CMD, check, "{{.Name}}"]}
`
	one := loaded(t, Options{Path: project(t,
		counted+rest("db", "{kind: crash, rate: 0.1, targets: db}, {kind: partition, rate: 0.1, targets: db-web}")), Env: map[string]string{"COPIES": "3"}})
	hand := loaded(t, Options{Path: project(t, byHand+rest("db1, db2, db3",
		"{kind: crash, rate: 0.1, targets: [db1, db2, db3]}, {kind: partition, rate: 0.1, targets: [db1-web, db2-web, db3-web]}"))})
	for i := range one.Spec.Nodes {
		n := &one.Spec.Nodes[i]
		if strings.HasPrefix(n.Name, "db") {
			if !slices.Contains(n.Aliases, "db") {
				t.Errorf("%s is not found by the name db", n.Name)
			}
			n.Aliases = slices.DeleteFunc(n.Aliases, func(a string) bool { return a == "db" })
		}
		n.WorkingDir = strings.Replace(n.WorkingDir, one.Spec.Dir, hand.Spec.Dir, 1)
		if w := &hand.Spec.Nodes[i]; !reflect.DeepEqual(n, w) {
			t.Errorf("%+v\nby hand\n%+v", n, w)
		}
	}
	if web := node1(t, one, "web"); !slices.Equal(web.Command, []string{"serve", "{{.Name}}"}) || len(web.DependsOn) != 3 {
		t.Errorf("%+v", web)
	}
	if got, want := one.Spec.Properties[0].Check.Nodes, []string{"db1", "db2", "db3"}; !slices.Equal(got, want) {
		t.Errorf("%q are asked", got)
	}
	for i := range hand.Spec.Faults.Rules {
		if got, want := one.Spec.Faults.Rules[i].Targets, hand.Spec.Faults.Rules[i].Targets; !slices.Equal(got, want) {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A number follows a name that ends with one behind a hyphen.
func TestCountOfANameWithANumber(t *testing.T) {
	r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes: {v2: {count: 2, command: \"x {{.Peers}}\"}}\n")})
	if n := node1(t, r, "v2-2"); !slices.Equal(n.Command, []string{"x", "v2-1"}) {
		t.Errorf("%q", n.Command)
	}
}

// Nodes that a count stands for replace the keys of services with their names, as others do.
func TestCountOverServices(t *testing.T) {
	dir := project(t, "compose.yaml\nname: shop\nservices: {r1: {image: a, command: old, environment: {A: \"1\"}}, r2: {image: b, command: old}}\n",
		"bloodhound.yaml\ncompose: compose.yaml\nnodes: {r: {count: 2, root: host, command: \"new {{.Name}}\", environment: {B: \"{{.Index}}\"}}}\n")
	r := loaded(t, Options{Path: dir})
	if len(r.Spec.Nodes) != 2 {
		t.Fatalf("%d nodes", len(r.Spec.Nodes))
	}
	n := node1(t, r, "r1")
	if n.Image != nil || !slices.Equal(n.Command, []string{"new", "r1"}) || !slices.Contains(n.Env, "A=1") ||
		!slices.Contains(n.Env, "B=1") || !slices.Contains(n.Aliases, "r") {
		t.Errorf("%+v", n)
	}
}

func TestCountMistakes(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"one of several in a link", []string{"bloodhound.yaml\nnodes: {n: {count: 2, command: x}}\nlinks: [{between: [n, n1]}]\n"},
			[]string{"bloodhound.yaml:2:20", `"n" stands for 2 nodes`, "such as n1"}},
		{"a name that is taken", []string{"bloodhound.yaml\nnodes:\n  n: {count: 2, command: x}\n  n2: {command: x}\n"},
			[]string{"bloodhound.yaml:3:3", "nodes.n2 is also the name of a node that nodes.n creates with `count: 2`"}},
		{"two numbers", []string{"bloodhound.yaml\nnodes: {n: {count: 2, scale: 3, command: x}}\n"}, []string{"bloodhound.yaml:1:23", "both set the number"}},
		{"replicas", []string{"bloodhound.yaml\nnodes: {n: {count: 2, deploy: {replicas: 3}, command: x}}\n"},
			[]string{"bloodhound.yaml:1:", "both set the number"}},
		{"too many", []string{"bloodhound.yaml\nnodes: {n: {count: 200, command: x}, m: {count: 200, command: x}}\n"},
			[]string{"there are more than 238 nodes"}},
		{"a service of that name", []string{"compose.yaml\nservices: {n: {image: x}}\n",
			"bloodhound.yaml\ncompose: compose.yaml\nnodes: {n: {count: 2, command: x}}\n"},
			[]string{"bloodhound.yaml:2:9", "services.n is also a separate node", "`scale:`"}},
		{"one name for all", []string{"bloodhound.yaml\nnodes: {n: {count: 2, command: x, container_name: c}}\n"},
			[]string{"bloodhound.yaml:1:", `has the same name "c"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Options{Path: project(t, c.files...), Env: noEnv, Images: anyImage})
			var errs source.Errors
			if !errors.As(err, &errs) {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v\nwithout %q", err, w)
				}
			}
		})
	}
}
