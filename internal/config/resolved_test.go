package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// written again, a configuration gives the same world, builds and search.
func checkWrittenAgain(t *testing.T, name string, opts Options) {
	t.Helper()
	first, err := Load(opts)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := first.YAML()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	opts.Path, opts.ConfigFile, opts.ComposeFiles, opts.FaultMode = "", filepath.Join(first.Spec.Dir, "again.yaml"), nil, ""
	opts.text = text
	opts.Env = maps.Clone(opts.Env)
	delete(opts.Env, "COMPOSE_PROFILES") // the nodes are there without it
	second, err := Load(opts)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	first.File, second.File = "", ""
	first.Notes, second.Notes = nil, nil
	first.Spec.Unplace()
	second.Spec.Unplace()
	if one, other := document(t, first), document(t, second); one != other {
		t.Errorf("%s: another world:\n%s\nof\n%s", name, differences(one, other), text)
	}
}

// differences are the lines that only one of two texts has.
func differences(one, other string) string {
	var b strings.Builder
	a, c := strings.Split(one, "\n"), strings.Split(other, "\n")
	for _, line := range a {
		if !slices.Contains(c, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range c {
		if !slices.Contains(a, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}

// `config` prints a bloodhound.yaml for the same world, whatever was written.
func TestWrittenAgain(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pattern := range []string{"examples/*/bloodhound.yaml", "examples/inprocess/*/bloodhound.yaml", "examples/servers/*/bloodhound.yaml",
		"examples/testdata/*/bloodhound.yaml",
		"bench/bugs/*/bloodhound.yaml", "bench/operators/*/*.yaml", "bench/sweep/*/bloodhound.yaml", "internal/config/testdata/compat/bloodhound.yaml",
		"internal/config/testdata/all/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, root+"/"), func(t *testing.T) {
			opts := Options{ConfigFile: name, Env: map[string]string{"A": "set", "B": "$b", "COMPOSE_PROFILES": "extra"}, Describe: true}
			checkWrittenAgain(t, name, opts)
			opts.FaultMode = "harsh"
			checkWrittenAgain(t, name, opts)
		})
	}
}

// Compose files of the project's folder are written as one, with what it means to be of a Compose file: shared volumes, names of containers, secrets.
func TestComposeWrittenAgain(t *testing.T) {
	compose := `compose.yaml
x-all: &all {stop_signal: SIGINT, environment: {TOKEN: a$$b, FROM_HOST: , SET: "${A:-none}"}}
services:
  web:
    <<: *all
    image: nginx:${NGINX:-1}
    scale: 2
    ports: ["8080:80"]
    depends_on: {db: {condition: service_healthy}, filler: {condition: service_completed_successfully}}
    networks: {front: {aliases: [www]}, back: }
    secrets: [key, {source: word, mode: 0400}]
    configs: [text]
    volumes: ["data:/data:ro", "./src:/src", {type: tmpfs, target: /t, tmpfs: {size: 1m, mode: 0o1770}}]
  filler: {image: busybox, command: [sh, -c, "echo $$HOME > /data/x"], volumes: ["data:/data"], networks: [back], profiles: [extra]}
  db:
    extends: base
    healthcheck: {test: pg_isready, interval: 2s, retries: 5}
    env_file: more.env
    mem_limit: 64m
    sysctls: {net.core.somaxconn: 1024}
    ulimits: {nofile: {soft: 100, hard: 200}}
  base: {build: {context: .}, stop_grace_period: 90s, networks: [back]}
  unused: {image: x, profiles: [never]}
  other: {image: x, network_mode: "service:db", pid: "service:db"}
networks: {front: , back: {internal: true, ipam: {config: [{subnet: 172.28.0.0/16}]}}}
volumes: {data: }
secrets: {key: {file: ./key.txt}, word: {environment: WORD}}
configs: {text: {content: "one $$A\ntwo\n"}}
`
	override := "over.yaml\nname: shop\nservices:\n  web: {command: !override [nginx, -g, daemon off;], volumes: !reset []}\n"
	dir := project(t, "bloodhound.yaml\ncompose: [compose.yaml, over.yaml]\nnodes:\n  db: {root: host, command: \"/bin/db --a $$X\", environment: {MORE: 1}}\n"+
		"faults: {mode: harsh}\n", compose, override, "key.txt\nhidden", "more.env\nIN_FILE=$A\n", "Dockerfile\nFROM x\n", ".env\nWORD=hidden\n")
	for name, opts := range map[string]Options{
		"named":           {Path: dir},
		"by flags":        {Path: dir, ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}},
		"without another": {ComposeFiles: []string{filepath.Join(dir, "compose.yaml")}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, project := range []string{"", "mine"} {
				opts.Describe, opts.Env = true, map[string]string{"A": "set", "FROM_HOST": "here", "COMPOSE_PROFILES": "extra"}
				if project != "" {
					opts.Env["COMPOSE_PROJECT_NAME"] = project
				}
				checkWrittenAgain(t, name, opts)
			}
		})
	}
	text, err := loaded(t, Options{Path: dir, Env: map[string]string{"COMPOSE_PROFILES": "extra"}}).YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"hidden", "x-all", dir} {
		if strings.Contains(string(text), part) {
			t.Errorf("%q in\n%s", part, text)
		}
	}
}
