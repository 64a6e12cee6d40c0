package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/build"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// stack writes files, whose names may have folders, and loads the Compose files that are named.
func stack(t *testing.T, env map[string]string, compose []string, files ...string) (*Result, string, error) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name, content, _ := strings.Cut(f, "\n")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if env == nil {
		env = noEnv
	}
	o := Options{Path: dir, Env: env, Images: anyImage}
	for _, name := range compose {
		o.ComposeFiles = append(o.ComposeFiles, filepath.Join(dir, name))
	}
	r, err := Load(o)
	return r, dir, err
}

func env(n world.Node, name string) string {
	for _, line := range n.Env {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// Several files are merged as Compose does it.
func TestComposeMerge(t *testing.T) {
	r, dir, err := stack(t, map[string]string{"TAG": "9"}, []string{"compose.yaml", "over/compose.override.yaml"}, `compose.yaml
x-common: &common
  restart: always
  environment: &env {LOG: info, A: "1"}
services:
  web:
    <<: *common
    image: web:${TAG:?no tag}
    command: [serve, --slow]
    ports: ["8080:80"]
    volumes: ["./data:/data", "cache:/cache"]
    environment:
      <<: *env
      DOLLAR: $$HOME
      FROM_FILE:
  db: {image: "db:${DB_TAG:-1}"}
volumes: {cache: }
`, `over/compose.override.yaml
services:
  web:
    command: serve --fast "two words"
    ports: !override ["9090:90"]
    volumes: ["./more:/more"]
    environment: {LOG: debug}
    restart: !reset null
    healthcheck: {test: ok}
  cache: {image: redis}
`, ".env\nFROM_FILE=file\nDB_TAG=5\n", "data/x\n", "more/x\n")
	if err != nil {
		t.Fatal(err)
	}
	web := node1(t, r, "web")
	if web.Image.Name != "web:9" || node1(t, r, "db").Image.Name != "db:5" || !slices.Equal(web.Command, []string{"serve", "--fast", "two words"}) {
		t.Errorf("%+v", web)
	}
	if env(web, "LOG") != "debug" || env(web, "A") != "1" || env(web, "DOLLAR") != "$HOME" || env(web, "FROM_FILE") != "file" {
		t.Errorf("environment %q", web.Env)
	}
	if web.Restart.Mode != world.RestartNo || web.Health == nil || web.Health.Command[2] != "ok" {
		t.Errorf("restart %+v, health %+v", web.Restart, web.Health)
	}
	want := map[string]string{"/data": filepath.Join(dir, "data"), "/more": filepath.Join(dir, "more"), "/cache": "cache"}
	for _, v := range web.Volumes {
		if want[v.Target] != v.Source {
			t.Errorf("volume %+v", v)
		}
	}
	if names := []string{r.Spec.Nodes[0].Name, r.Spec.Nodes[1].Name, r.Spec.Nodes[2].Name}; !slices.Equal(names, []string{"web", "db", "cache"}) {
		t.Errorf("the nodes are %q, not in the order in which they are written", names)
	}
	if len(web.Volumes) != len(want) || !noted(r, "over/compose.override.yaml:4: services.web.ports") {
		t.Errorf("volumes %+v, notes %v", web.Volumes, r.Notes)
	}
}

// What is included has folders and variables of its own, and what is extended is where it was written.
func TestComposeIncludeAndExtends(t *testing.T) {
	r, dir, err := stack(t, nil, []string{"compose.yaml"}, `compose.yaml
include:
  - db/compose.yaml
  - {path: [queue/q.yaml, queue/q2.yaml], env_file: queue/v.env}
services:
  web:
    extends: {service: base, file: common/base.yaml}
    image: web
  api:
    extends: web
    environment: {B: api}
    depends_on: {db: {condition: service_started}, queue: {condition: service_started}}
`, `db/compose.yaml
services: {db: {image: "db:${TAG}", volumes: ["./init:/init:ro"]}}
`, "db/.env\nTAG=db\n", "db/init/x\n", `queue/q.yaml
services: {queue: {image: "queue:${TAG}"}}
`, `queue/q2.yaml
services: {queue: {environment: {C: "${TAG}"}}}
`, "queue/v.env\nTAG=q\n", `common/base.yaml
services:
  base: {environment: {A: base, B: base}, volumes: ["./conf:/conf"], user: "5"}
`, "common/conf/x\n")
	if err != nil {
		t.Fatal(err)
	}
	api, db, queue := node1(t, r, "api"), node1(t, r, "db"), node1(t, r, "queue")
	if api.Image.Name != "web" || env(api, "A") != "base" || env(api, "B") != "api" || api.User != "5" || len(api.DependsOn) != 2 ||
		api.Volumes[0].Source != filepath.Join(dir, "common/conf") {
		t.Errorf("%+v", api)
	}
	if db.Image.Name != "db:db" || db.Volumes[0].Source != filepath.Join(dir, "db/init") || !db.Volumes[0].ReadOnly {
		t.Errorf("%+v", db)
	}
	if queue.Image.Name != "queue:q" || env(queue, "C") != "q" {
		t.Errorf("%+v", queue)
	}
	if slices.ContainsFunc(r.Spec.Nodes, func(n world.Node) bool { return n.Name == "base" }) {
		t.Error("what is only extended is a node")
	}
}

func TestReplicas(t *testing.T) {
	r, _, err := stack(t, map[string]string{"COMPOSE_PROJECT_NAME": "shop"}, nil, `bloodhound.yaml
compose: compose.yaml
nodes: {own: {command: x, replicas: 2, depends_on: [web]}}
faults:
  rules:
    - {kind: crash, rate: 0.1, targets: [web]}
    - {kind: partition, rate: 0.1, targets: ["web->db", own-db]}
    - crash on web after 5s max 1
properties:
  - {name: same, kind: safety, check: {type: agreement, endpoint: "http://{node}/", nodes: [web, db]}}
`, `compose.yaml
services:
  web: {image: web, deploy: {replicas: 3, resources: {limits: {memory: 64m}}, restart_policy: {condition: on-failure, max_attempts: 2}}, depends_on: [db]}
  db: {image: db, scale: 1}
  none: {image: none, scale: 0}
`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range r.Spec.Nodes[:6] {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"web-1", "web-2", "web-3", "db", "own-1", "own-2"}) {
		t.Fatalf("nodes %q", names)
	}
	web := r.Spec.Nodes[1]
	if !slices.Contains(web.Aliases, "web") || !slices.Contains(web.Aliases, "shop-web-2") || web.Bounds.ShmBytes != 64<<20 ||
		web.Restart.Mode != world.RestartOnFailure || web.Restart.MaxRetries != 2 || web.Hostname != "web-2" {
		t.Errorf("%+v", web)
	}
	if deps := node1(t, r, "own-1").DependsOn; len(deps) != 3 || deps[2].Node != "web-3" {
		t.Errorf("depends on %+v", deps)
	}
	rules := r.Spec.Faults.Rules
	if !slices.Equal(rules[0].Targets, []string{"web-1", "web-2", "web-3"}) ||
		!slices.Equal(rules[1].Targets, []string{"web-1->db", "web-2->db", "web-3->db", "own-1-db", "own-2-db"}) ||
		!slices.Equal(rules[2].Targets, []string{"web-1", "web-2", "web-3"}) {
		t.Errorf("rules %+v", rules)
	}
	if nodes := r.Spec.Properties[len(r.Spec.Properties)-1].Check.Nodes; !slices.Equal(nodes, []string{"web-1", "web-2", "web-3", "db"}) {
		t.Errorf("agreement of %q", nodes)
	}
}

func TestSecretsAndConfigs(t *testing.T) {
	r, dir, err := stack(t, map[string]string{"TOKEN": "t0ken"}, []string{"compose.yaml"}, `compose.yaml
services:
  web:
    image: web
    secrets: [password, {source: token, target: /etc/token, uid: "10", gid: "20", mode: 0400}]
    configs: [site, {source: inline, target: /etc/inline.conf, mode: "0644"}]
    volumes: ["bound:/bound", "memory:/memory", "plain:/plain"]
secrets:
  password: {file: ./password.txt}
  token: {environment: TOKEN}
configs:
  site: {file: ./site.conf}
  inline: {content: "port: ${PORT:-80}"}
volumes:
  plain: {external: true}
  bound: {driver_opts: {type: none, o: bind, device: ./data}}
  memory: {driver_opts: {type: tmpfs, device: tmpfs}}
`, "password.txt\nhunter2", "site.conf\nsite", "data/x\n")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]world.Volume{}
	for _, v := range node1(t, r, "web").Volumes {
		got[v.Target] = v
	}
	for target, want := range map[string]world.Volume{
		"/run/secrets/password": {Kind: world.File, ReadOnly: true, Content: []byte("hunter2"), Mode: 0o640}, // the file's own
		"/etc/token":            {Kind: world.File, ReadOnly: true, Content: []byte("t0ken"), Mode: 0o400, UID: 10, GID: 20},
		"/site":                 {Kind: world.File, ReadOnly: true, Content: []byte("site"), Mode: 0o640},
		"/etc/inline.conf":      {Kind: world.File, ReadOnly: true, Content: []byte("port: 80"), Mode: 0o644},
		"/bound":                {Kind: world.Bind, Source: filepath.Join(dir, "data")},
		"/memory":               {Kind: world.Tmpfs},
		"/plain":                {Kind: world.Named, Source: "plain"},
	} {
		want.Target = target
		a, _ := json.Marshal(got[target])
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s: %s, want %s", target, a, b)
		}
	}
}

// What Docker makes on the host begins in the world, and what does not work there is said.
func TestBindsOfCompose(t *testing.T) {
	r, dir, err := stack(t, nil, []string{"compose.yaml"}, `compose.yaml
services:
  a: {image: a, volumes: ["./new:/new", "./there:/there", {type: bind, source: ./gone, target: /gone, bind: {create_host_path: false}}]}
  b: {image: b, volumes: ["./there:/there:ro"]}
`, "there/x\n")
	if err != nil {
		t.Fatal(err)
	}
	a := node1(t, r, "a").Volumes
	if a[0].Kind != world.Named || !a[0].NoCopy || a[1].Kind != world.Bind || a[2].Kind != world.Bind {
		t.Errorf("%+v", a)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("it was made on this machine")
	}
	if !noted(r, "compose.yaml:2: services.a.volumes: "+filepath.Join(dir, "new")+" does not exist") || !a[1].Shared ||
		!node1(t, r, "b").Volumes[0].Shared || a[0].Shared || a[2].Shared {
		t.Errorf("notes %v", r.Notes)
	}
}

// The image of a service with a Dockerfile is the daemon's, or what the store or a registry has under the name that the service
// gives it, or built, or what the configuration says instead. A pull_policy says otherwise.
func TestBuiltImages(t *testing.T) {
	compose := "compose.yaml\nname: shop\nservices:\n  web: {build: {context: ./web, args: {A: b}}}\n  own: {build: ., image: team/own:2}\n"
	var asked []string
	images := func(have ...string) load.Images {
		asked = nil
		return func(name, _, policy string) (*image.Image, error) {
			asked = append(asked, name+" "+policy)
			if slices.Contains(have, name) {
				return &image.Image{ID: "sha256:" + name, Root: rootfs.Root{Tree: rootfs.NewTree()},
					Config: v1.ConfigFile{Config: v1.Config{Cmd: []string{"app"}}}}, nil
			}
			return nil, errors.New("there is no daemon here")
		}
	}
	builds := func(r *build.Request) (*image.Image, error) { return anyImage("built "+r.Name, "", "") }
	r := loaded(t, Options{Path: project(t, "bloodhound.yaml\ncompose: compose.yaml\n", compose),
		Images: images("docker-daemon:shop-web", "team/own:2"), Dockerfiles: builds})
	if a, b := node1(t, r, "web").Image, node1(t, r, "own").Image; a.Name != "shop-web" || b.Name != "team/own:2" || b.ID != "sha256:team/own:2" {
		t.Errorf("%+v, %+v", a, b)
	}
	if !slices.Equal(asked, []string{"docker-daemon:shop-web ", "docker-daemon:team/own:2 ", "team/own:2 "}) {
		t.Errorf("asked for %q", asked)
	}
	if !noted(r, "services.own.build: the image team/own:2 exists, so its Dockerfile is not read") {
		t.Errorf("notes %v", r.Notes)
	}
	for policy, want := range map[string][]string{
		"missing": {"docker-daemon:team/own:2 ", "team/own:2 missing"},
		"never":   {"docker-daemon:team/own:2 ", "team/own:2 never"},
		"always":  {"docker-daemon:team/own:2 ", "team/own:2 always"},
		"build":   nil,
	} {
		files := []string{"bloodhound.yaml\ncompose: compose.yaml\n",
			"compose.yaml\nservices: {own: {build: ., image: team/own:2, pull_policy: " + policy + "}}\n"}
		r := loaded(t, Options{Path: project(t, files...), Images: images(), Dockerfiles: builds})
		if own := node1(t, r, "own").Image; own.ID != "sha256:built team/own:2" || !slices.Equal(asked, want) {
			t.Errorf("%s: %+v, asked for %q", policy, own, asked)
		}
	}
	fails := func(*build.Request) (*image.Image, error) {
		return nil, errors.New("Dockerfile:7: RUN make: exit status 2")
	}
	_, err := Load(Options{Path: project(t, "bloodhound.yaml\ncompose: compose.yaml\n", compose), Images: images(), Dockerfiles: fails, Env: noEnv})
	for _, part := range []string{"compose.yaml:3:9", "docker compose build web", "docker-archive:web.tar", "shop-web",
		"Dockerfile:7: RUN make: exit status 2"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	r = loaded(t, Options{Images: images("docker-archive:own.tar"), Path: project(t, compose, `bloodhound.yaml
compose: compose.yaml
nodes:
  web: {root: host, build: make web, entrypoint: [./web]}
  own: {image: "docker-archive:own.tar"}
`)})
	if web := node1(t, r, "web"); web.Image != nil || web.Command[0] != "./web" || len(r.Builds) != 1 ||
		node1(t, r, "own").Image.Name != "docker-archive:own.tar" {
		t.Errorf("%+v, %+v", web, r.Builds)
	}
}

// A service's image can be a context of another one's build.
func TestServicesAsContexts(t *testing.T) {
	compose := `compose.yaml
services:
  base: {build: {dockerfile_inline: "FROM scratch"}, command: x}
  web: {build: {context: ., additional_contexts: {base: "service:base", files: ./more}}}
`
	var order []string
	var failed error
	builds := func(r *build.Request) (*image.Image, error) {
		if c, ok := r.Contexts["base"]; ok {
			if _, failed = c.Image(context.Background()); failed != nil {
				return nil, failed
			}
		}
		order = append(order, r.Name+" "+filepath.Base(r.Contexts["files"].Dir))
		return anyImage(r.Name, "", "")
	}
	none := func(string, string, string) (*image.Image, error) { return nil, errors.New("none") }
	loaded(t, Options{Path: project(t, "bloodhound.yaml\ncompose: compose.yaml\n", compose), Images: none, Dockerfiles: builds})
	if len(order) != 3 || !strings.HasSuffix(order[1], "-base .") || !strings.HasSuffix(order[2], "-web more") {
		t.Errorf("%q", order)
	}
	for _, left := range []string{"profiles: [base]", "scale: 0"} {
		order = nil
		r := loaded(t, Options{Path: project(t, "bloodhound.yaml\ncompose: compose.yaml\n",
			strings.Replace(compose, `base: {`, "base: {"+left+", ", 1)), Images: none, Dockerfiles: builds})
		if len(order) != 2 || !strings.HasSuffix(order[0], "-base .") || !strings.HasSuffix(order[1], "-web more") || len(r.Spec.Nodes) != 1 {
			t.Errorf("%s: %q, %d nodes", left, order, len(r.Spec.Nodes))
		}
	}
	cycle := strings.Replace(compose, `{dockerfile_inline: "FROM scratch"}`, `{context: ., additional_contexts: {base: "service:web"}}`, 1)
	if _, err := Load(Options{Path: project(t, "bloodhound.yaml\ncompose: compose.yaml\n", cycle), Images: none,
		Dockerfiles: builds, Env: noEnv}); err == nil || !strings.Contains(err.Error(), "depends on itself") {
		t.Errorf("%v", err)
	}
}

// An image that is not looked at, or cannot be had, may have the healthcheck that another service waits for.
func TestComposeHealthOfAnImage(t *testing.T) {
	for check, isMistake := range map[string]bool{"": false, ", healthcheck: {interval: 1s}": false,
		", healthcheck: {disable: true}": true, ", healthcheck: {test: [NONE]}": true} {
		for _, from := range []string{"image: x", "build: {dockerfile_inline: FROM scratch}"} {
			project := project(t, "compose.yaml\nservices: {a: {"+from+check+"}, b: {image: y, depends_on: {a: {condition: service_healthy}}}}\n")
			for _, describe := range []bool{true, false} {
				_, err := Load(Options{ComposeFiles: []string{filepath.Join(project, "compose.yaml")}, Path: project, Env: noEnv, Describe: describe,
					Images: func(string, string, string) (*image.Image, error) { return nil, errors.New("none") }})
				if said := err != nil && strings.Contains(err.Error(), "node has no healthcheck"); said != isMistake || describe && !isMistake && err != nil {
					t.Errorf("%s%s, looked at %t: %v", from, check, !describe, err)
				}
			}
		}
	}
}

// What a key implies has no mistake of its own, and a variable that is not set is blamed at its own value alone.
func TestComposeOneMistake(t *testing.T) {
	for keys, want := range map[string]string{
		`network_mode: "service:zz"`:                   `1:30: services.x.network_mode: unknown node "zz"`,
		`network_mode: "service:x"`:                    `1:30: services.x.network_mode: node x depends on itself`,
		`network_mode: "service:${NOT}"`:               `1:30: services.x.network_mode: unknown node "" (unset variables, which are empty: NOT)`,
		`pid: "service:zz"`:                            `1:21: services.x.pid: unknown node "zz"`,
		`volumes_from: [zz]`:                           `1:31: services.x.volumes_from: unknown node "zz"`,
		`links: ["zz:z"]`:                              `1:24: services.x.links: unknown node "zz"`,
		`depends_on: [zz]`:                             `1:29: services.x.depends_on: unknown node "zz"`,
		`command: "a ${NOT}", ports: ["${NOT}"], a: 1`: `unknown key "a" in services.x`,
		`command: "a ${NOT}", cpus: "${NO}"`:           `(unset variables, which are empty: NO)`,
	} {
		_, _, err := stack(t, nil, []string{"compose.yaml"}, "compose.yaml\nservices: {x: {"+keys+", image: y}}\n")
		var errs source.Errors
		if !errors.As(err, &errs) || len(errs) != 1 || !strings.Contains(errs[0].Error(), want) ||
			strings.Contains(errs[0].Error(), "empty") != strings.Contains(want, "empty") {
			t.Errorf("%s: %v; want %s", keys, err, want)
		}
	}
}

// Mistakes are reported where they stand, in whichever file.
func TestComposeMistakes(t *testing.T) {
	const head = "compose.yaml\n"
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"an unknown key, of a file that is included",
			[]string{head + "include: [a/b.yaml]\n", "a/b.yaml\nservices: {x: {image: y, comand: z}}\n"}, []string{"a/b.yaml:1:26", `did you mean "command"?`}},
		{"an unknown key, of a service that is extended",
			[]string{head + "services: {x: {extends: {service: y, file: base.yaml}}}\n",
				"base.yaml\nservices: {y: {image: y, comand: z}}\n"}, []string{"base.yaml:1:26"}},
		{"a service that is not there to be extended", []string{head + "services:\n  x: {extends: nobody}\n"}, []string{"compose.yaml:2:3", "nobody"}},
		{"services that extend each other", []string{head + "services:\n  x: {extends: y}\n  y: {extends: x}\n"},
			[]string{"compose.yaml:", "Circular reference"}},
		{"files that include each other", []string{head + "include: [b.yaml]\nservices: {x: {image: x}}\n",
			"b.yaml\ninclude: [compose.yaml]\nservices: {y: {image: y}}\n"}, []string{"include cycle"}},
		{"an include from elsewhere", []string{head + "include: [\"oci://example.com/x:1\"]\n"}, []string{"compose.yaml:1:11", "not a local file"}},
		{"a required variable", []string{head + "services: {x: {image: \"x:${TAG:?give a tag}\"}}\n"}, []string{"compose.yaml:1:23", "give a tag"}},
		{"what only the schema knows", []string{head + "services:\n  x:\n    image: x\n    ulimits: {nofile: many}\n"}, []string{"compose.yaml:4", "nofile"}},
		{"a port", []string{head + "services:\n  x:\n    image: x\n    ports: [\"80:eighty\"]\n"}, []string{"compose.yaml:4:", "eighty"}},
		{"a secret that is not there", []string{head + "services:\n  x: {image: x, secrets: [a]}\n"}, []string{"compose.yaml:2:27", `unknown name "a"`}},
		{"a secret from outside", []string{head + "services:\n  x: {image: x, secrets: [a]}\nsecrets: {a: {external: true}}\n"},
			[]string{"external", "compose.yaml:2:27"}},
		{"a secret without a value", []string{head +
			"services:\n  x: {image: x, secrets: [a]}\nsecrets: {a: {environment: NOT_SET}}\n"}, []string{"NOT_SET is not set", "compose.yaml:3:28"}},
		{"a secret's file", []string{head + "services:\n  x: {image: x, secrets: [a]}\nsecrets: {a: {file: ./none}}\n"},
			[]string{"none: no such file", "compose.yaml:3:21"}},
		{"a volume that is not there", []string{head + "services:\n  x: {image: x, volumes: [\"aa:/a\"]}\n"},
			[]string{`unknown volume "aa"`, "compose.yaml:2:27"}},
		{"a volume of another machine", []string{head +
			"services:\n  x: {image: x, volumes: [\"aa:/a\"]}\nvolumes: {aa: {driver_opts: {type: nfs, o: \"addr=1.2.3.4\", device: \":/x\"}}}\n"},
			[]string{"external nfs", "compose.yaml:3:29"}},
		{"a name for several", []string{head + "services:\n  x: {image: x, scale: 2, container_name: one}\n"},
			[]string{"compose.yaml:2:43", "cannot share a name"}},
		{"one name for two", []string{head +
			"services:\n  x: {image: x, container_name: one}\n  y: {image: x, container_name: one}\n"},
			[]string{"compose.yaml:3:33", `x has the same name "one"`}},
		{"what is left out", []string{head + "services:\n  x: {image: x, profiles: [debug]}\n  y: {image: x, depends_on: [x]}\n"},
			[]string{"compose.yaml:3:30", "COMPOSE_PROFILES=debug"}},
		{"what there is none of", []string{head + "services:\n  x: {image: x, scale: 0}\n  y: {image: x, depends_on: [x]}\n"},
			[]string{"compose.yaml:3:30", "its scale is 0"}},
		{"the machine's own", []string{head + "services:\n  x: {image: x, volumes: [\"/proc:/host/proc:ro\"]}\n"},
			[]string{"compose.yaml:2:27", "a /proc, a /sys"}},
		{"all of the machine", []string{head + "services:\n  x: {image: x, volumes: [\"/:/host:ro\"]}\n"}, []string{"compose.yaml:2:27", "a /proc, a /sys"}},
		{"a replica's name", []string{head + "services:\n  x: {image: x, scale: 2}\n  x-1: {image: x}\n"}, []string{"name of a replica", "compose.yaml:3:3"}},
		{"two scales", []string{head + "services:\n  x: {image: x, scale: 2, deploy: {replicas: 3}}\n"}, []string{"differ", "compose.yaml:2:17"}},
		{"no link to several", []string{head + "services:\n  x: {image: x, scale: 2}\n  y: {image: y}\n",
			"bloodhound.yaml\ncompose: compose.yaml\nlinks: [{between: [x, y]}]\n"}, []string{"bloodhound.yaml:2:20", "x-1"}},
		{"a refused key", []string{head + "services:\n  x: {image: x, devices: [/dev/kvm]}\n"}, []string{"compose.yaml:2:17", "devices is not supported"}},
		{"a cycle of dependencies", []string{head +
			"services:\n  x: {image: x, depends_on: [y]}\n  y: {image: y, depends_on: [x]}\n"}, []string{"depend on each other: x -> y -> x"}},
		{"not YAML", []string{head + "services:\n  x: {image: x\n"}, []string{"compose.yaml:", "not YAML"}},
		{"a file that only includes", []string{head + "include: [b.yaml]\n", "b.yaml\nservices: {x: {image: x, comand: y}}\n"}, []string{"b.yaml:1:26"}},
		{"a list", []string{head + "- a\n"}, []string{"a Compose file cannot be a list"}},
		{"all left out by profiles", []string{head + "services:\n  x: {image: x, profiles: [debug, dev]}\n"},
			[]string{"compose.yaml:2:3", "COMPOSE_PROFILES=debug,dev"}},
		{"all left out by a scale", []string{head + "services:\n  x: {image: x, deploy: {replicas: 0}}\n"},
			[]string{"compose.yaml:2:3", "`scale:` of a node to at least 1"}},
		{"no services", []string{head + "name: x\n"}, []string{"no nodes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			compose := []string{"compose.yaml"}
			if slices.ContainsFunc(c.files, func(f string) bool { return strings.HasPrefix(f, "bloodhound.yaml\n") }) {
				compose = nil
			}
			_, _, err := stack(t, nil, compose, c.files...)
			var errs source.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("%v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in:\n%v", part, err)
				}
			}
		})
	}
	if _, _, err := stack(t, nil, []string{"nowhere.yaml"}); err == nil || !strings.Contains(err.Error(), "give the path of an existing file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Compose files are mappings, and Go's have no order: the same files always make the same nodes.
func TestComposeIsStable(t *testing.T) {
	var first string
	for range 20 {
		r := loaded(t, Options{Path: "testdata/all/one.yaml", Env: map[string]string{"B": "2", "COMPOSE_PROFILES": "extra"}})
		if text := document(t, r); first == "" {
			first = text
		} else if text != first {
			t.Fatalf("the same files make two worlds:\n%s\n%s", first, text)
		}
	}
}

// What follows from a variable that is not set names it, whatever the mistake is and wherever on the key's lines it is found.
func TestUnsetVariables(t *testing.T) {
	for _, c := range []struct{ name, service string }{
		{"image", `image: "redis:$TAG"`},
		{"image on a line of its own", "image:\n      redis:$TAG"},
		{"a number", `{image: x, scale: "$TAG"}`},
		{"a duration", `{image: x, stop_grace_period: "${TAG}"}`},
		{"a port", `{image: x, ports: ["$TAG"]}`},
		{"a volume", `{image: x, volumes: ["$TAG:/x"]}`},
		{"a file", `{image: x, env_file: "${TAG}.env"}`},
		{"no command", `command: $TAG`},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := "\n    " + c.service
			images := func(name, _, _ string) (*image.Image, error) {
				if strings.HasSuffix(name, ":") {
					return nil, fmt.Errorf("%q is no reference", name)
				}
				return anyImage(name, "", "")
			}
			dir := project(t, "compose.yaml\nservices:\n  app:"+service+"\n")
			_, err := Load(Options{ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}, Images: images})
			if err == nil || !strings.Contains(err.Error(), "which are empty: TAG)") ||
				!strings.Contains(err.Error(), "set TAG in the environment or in .env, or write ${TAG:-DEFAULT}; otherwise: ") {
				t.Errorf("%v", err)
			}
			if _, err := Load(Options{ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}, Images: images,
				Env: map[string]string{"TAG": "7"}}); err != nil && strings.Contains(err.Error(), "not set") {
				t.Errorf("with TAG=7: %v", err)
			}
		})
	}
}
