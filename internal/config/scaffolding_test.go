package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bloodhound-dst/bloodhound/internal/config/scaffolding"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// goServer is a server of HTTP in Go that keeps keys.
const goServer = `package main

import ("net/http"; "os")

func main() {
	port := os.Getenv("PORT")
	if port == "" { port = "9090" }
	http.HandleFunc("PUT /items/{id}", put)
	http.HandleFunc("GET /items/{id}", get)
	http.ListenAndServe(":"+port, nil)
}
`

const goTool = "package main\n\nfunc main() { println(1) }\n"

// tree makes a folder of files, whose first lines are their paths.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range files {
		name, text, _ := strings.Cut(file, "\n")
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// found writes the files of a folder and what init finds there: the best world, which must load.
func found(t *testing.T, files ...string) (scaffolding.Findings, string, *Result) {
	t.Helper()
	dir := tree(t, files...)
	f := scaffolding.Find(dir)
	if len(f.Worlds) == 0 {
		t.Fatalf("nothing was found; notes: %q", f.Notes)
	}
	return f, string(f.Worlds[0].Files[scaffolding.ConfigName]), loadedWorld(t, dir, f.Worlds[0])
}

var schemaOfTests *jsonschema.Schema

func compiledOnce(t *testing.T) *jsonschema.Schema {
	t.Helper()
	if schemaOfTests == nil {
		schemaOfTests = compiled(t)
	}
	return schemaOfTests
}

// loadedWorld writes a world's files beside those of a folder, and loads them without looking for images.
func loadedWorld(t *testing.T, dir string, w scaffolding.World) *Result {
	t.Helper()
	for name, text := range w.Files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Load(Options{Path: dir, Env: noEnv, Describe: true})
	if err != nil {
		t.Fatalf("what init writes for %s does not load: %v\n%s", w.Name, err, w.Files[scaffolding.ConfigName])
	}
	text := string(w.Files[scaffolding.ConfigName])
	if !strings.HasPrefix(text, "# yaml-language-server: $schema="+SchemaURL+"\n# Found: ") {
		t.Errorf("what init writes for %s does not begin with the schema and what was found:\n%s", w.Name, text)
	}
	if err := compiledOnce(t).Validate(value(t, filepath.Join(dir, scaffolding.ConfigName))); err != nil {
		t.Errorf("what init writes for %s does not fit the schema: %v", w.Name, err)
	}
	for _, n := range r.Notes {
		if filepath.Base(n.File) == scaffolding.ConfigName {
			t.Errorf("what init writes for %s has a note: %v", w.Name, n)
		}
	}
	return r
}

// Each kind of project becomes a world that loads and has the program's command, port, path and properties.
func TestScaffoldOfProjects(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		best  string   // the name of the best world
		want  []string // parts of its text
		not   []string
	}{
		{"Go", []string{"go.mod\nmodule example.com/shop\n", "cmd/server/main.go\n" + goServer}, "./cmd/server", []string{
			"build: {command: go build -o .bloodhound/bin/server ./cmd/server, environment: {CGO_ENABLED: \"0\"}}",
			"command: .bloodhound/bin/server\n", `environment: {PORT: "9090"}`, "target: http://server:9090\n",
			`{type: put, weight: 1, path: "/items/{key}"`, "type: linearizability", "type: recovery", "mode: harsh",
			"# Found: the Go program ./cmd/server, HTTP on port 9090.\n", "# - Port 9090 comes from cmd/server/main.go.\n"},
			[]string{"count:"}},
		{"Go in the root", []string{"go.mod\nmodule example.com/shop\n", "main.go\n" + goServer}, "go.mod",
			[]string{"  shop:\n", "go build -o .bloodhound/bin/shop .,"}, nil},
		{"Go in a folder", []string{"backend/go.mod\nmodule x\n", "backend/cmd/api/main.go\n" + goServer}, "./backend/cmd/api",
			[]string{"go build -C backend -o ../.bloodhound/bin/api ./cmd/api,"}, nil},
		{"Go with a server in a package", []string{"go.mod\nmodule x\n", "main.go\npackage main\nimport \"x/web\"\nfunc main() { web.Serve() }\n",
			"web/web.go\npackage web\nimport \"net/http\"\nfunc Serve() { http.ListenAndServe(\":7001\", nil) }\n"}, "go.mod",
			[]string{"target: http://x:7001\n"}, nil},
		{"Go with routes in a package", []string{"go.mod\nmodule x.org/notes\n",
			"cmd/notesd/main.go\npackage main\nimport (\"net/http\"; \"x.org/notes/internal/api\")\n" +
				"func main() { a := flag.String(\"addr\", \"localhost:8088\", \"\"); http.ListenAndServe(*a, api.New()) }\n",
			"internal/api/api.go\npackage api\nfunc New() { db.Open(\"db:5432\"); m.HandleFunc(\"/notes/\", f) }\nfunc f() { " +
				"switch r.Method { case http.MethodPut: } }\n"}, "./cmd/notesd",
			[]string{"command: .bloodhound/bin/notesd --addr 0.0.0.0:8088\n", "http://notesd:8088\n", `path: "/notes/{key}"`,
				"type: linearizability"}, []string{"seems to listen"}},
		{"Go on localhost", []string{"go.mod\nmodule x\n", "main.go\n" + strings.ReplaceAll(goServer, `":"+port`, `"127.0.0.1:9090"`)}, "go.mod",
			[]string{"seems to listen on localhost", "exec 3<>/dev/tcp/x/9090"}, nil},
		{"Go with peers", []string{"go.mod\nmodule kv\n", "main.go\n" + strings.Replace(goServer, "port :=",
			"peers := flag.String(\"peers\", \"\", \"\")\n\tid := flag.Int(\"id\", 0, \"\")\n\tport :=", 1)}, "go.mod",
			[]string{"count: 3\n", `--peers", "{{.Peers.Each`, `"--id", "{{.Index}}"`, "http://kv1:9090"}, nil},
		{"Go without a server", []string{"go.mod\nmodule x\n", "main.go\n" + goTool}, "go.mod",
			[]string{"# workload:\n", "# properties: []", "No port was found"}, []string{"healthcheck"}},
		{"Node.js", []string{`package.json` + "\n" +
			`{"name":"@us/shop","scripts":{"start":"node src/app.js"},"dependencies":{"express":"4"}}`, "package-lock.json\n{}",
			"src/app.js\nconst app = require('express')(); const e = express();\napp.get('/users/:id', f); app.put('/users/:id', " +
				"g)\napp.listen(process.env.PORT || 3000)"}, "package.json",
			[]string{"  shop:\n", "build: npm ci ", "command: node src/app.js\n", "target: http://shop:3000\n",
				`path: "/users/{key}"`, "linearizability"}, nil},
		{"Node.js without dependencies", []string{"package.json\n{\"main\":\"server.js\"}", "package-lock.json\n{}",
			"server.js\nrequire('http').createServer(f).listen(8123); http.createServer"}, "package.json",
			[]string{"command: node server.js\n", ":8123"}, []string{"build:", "linearizability"}},
		{"Python", []string{"server.py\nfrom http.server import HTTPServer, BaseHTTPRequestHandler\nclass " +
			"H(BaseHTTPRequestHandler):\n  def do_PUT(self): pass\n  def do_GET(self): pass\n" +
			"if __name__ == '__main__':\n  HTTPServer(('', 8765), H).serve_forever()\n"}, "server.py",
			[]string{"command: python3 server.py\n", "target: http://server:8765\n", `path: "/kv/{key}"`, "linearizability"}, nil},
		{"Python with a folder", []string{"main.py\nimport sys, http.server\nDATA_DIR = sys.argv[1]\nhttp.server.HTTPServer(('', 8000), H).serve_forever()\n"},
			"main.py",
			[]string{"command: python3 main.py /data\n", `volumes: ["data:/data"]`, "gets the folder /data"}, nil},
		{"Python with arguments", []string{"main.py\nimport sys, http.server\nN = int(sys.argv[1])\nhttp.server.HTTPServer(('', 8000), H).serve_forever()\n"},
			"main.py",
			[]string{"command: python3 main.py\n", "reads command-line arguments"}, []string{"volumes"}},
		{"FastAPI", []string{"requirements.txt\nfastapi\n",
			"main.py\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.get('/health')\ndef h(): return 1\n"}, "main.py",
			[]string{"-m uvicorn --app-dir . main:app --host 0.0.0.0 --port 8000\n", ":8000", `path: "/health?key={key}"`,
				"Install its packages"}, []string{"linearizability"}},
		{"Java", []string{"Server.java\nimport com.sun.net.httpserver.*;\npublic class Server { public static void main(String[] " +
			"a) { HttpServer.create(new InetSocketAddress(8181), 0).createContext(\"/kv/\", h); } }"},
			"Server.java", []string{"build: javac -d .bloodhound/bin/classes Server.java ",
				"command: java -cp .bloodhound/bin/classes Server\n", ":8181"}, nil},
		{"Maven", []string{"pom.xml\n<project><parent><artifactId>p</artifactId><version>3</version></parent><artifactId>shop</artifactId><version>1.2</version><build><plugins><plugin>" +
			"<artifactId>spring-boot-maven-plugin</artifactId></plugin></plugins></build></project>",
			"src/main/java/A.java\nimport org.springframework.x; class A { SpringApplication.run(A) }"},
			"pom.xml", []string{"build: mvn -q -f pom.xml package -DskipTests ", "command: java -jar target/shop-1.2.jar\n", ":8080"}, nil},
		{"Rust", []string{"Cargo.toml\n[package]\nname = \"store\"\nversion = \"1.0.0\"\n",
			"src/main.rs\nfn main() { let l = TcpListener::bind(\"0.0.0.0:6000\"); axum::serve(l, app()).await }\nfn app() { " +
				"Router::new().route(\"/kv/:key\", get(a).put(b)) } // axum"},
			"Cargo.toml", []string{"command: target/release/store\n", "--bin store", ":6000", `path: "/kv/{key}"`}, nil},
		{"C", []string{"Makefile\nall: kvd\nkvd: kvd.c\n\tcc -o $@ kvd.c\n", "kvd.c\n#define PORT 7070\nint main(void) { listen(s, 128); }\n"}, "Makefile",
			[]string{"build: make ", "command: ./kvd\n", "/dev/tcp/kvd/7070", "# workload:"}, []string{"driver: http"}},
		{"one file of C", []string{"echo.c\nint main(void) { a.sin_port = htons(7); b.sin_port = htons(7071); listen(s, 5); }\n"}, "echo.c",
			[]string{"cc -O2 -pthread -o .bloodhound/bin/echo echo.c", "command: .bloodhound/bin/echo\n", "7071"}, nil},
		{"Compose", []string{"compose.yaml\nservices:\n  db: {image: postgres:16}\n  web: {image: x, ports: [\"80:8000\"]}\n"}, "compose.yaml",
			[]string{"compose: compose.yaml\n", "target: http://web:8000\n", "# Found: the Compose file compose.yaml with 2 services.\n"}, []string{"nodes:"}},
		{"Compose with a database in front",
			[]string{"docker-compose.yml\nservices:\n  db: {image: postgres:16, ports: [\"5432:5432\"]}\n  web: {image: x, ports: [\"9000\"]}\n"},
			"docker-compose.yml", []string{"target: http://web:9000\n"}, nil},
		{"Compose with Redis", []string{"compose.yaml\nservices:\n  cache: {image: redis:7, ports: [\"6379:6379\"]}\n"}, "compose.yaml",
			[]string{"driver: redis\n", "master: redis://cache:6379\n", "type: SET", "type: linearizability"}, []string{"driver: http"}},
		{"Kubernetes", []string{"deploy/db.yaml\n" + `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - image: db:1
        args: [--x, "$(A){{b}}"]
        env: [{name: N, value: "5"}, {name: FROM, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}]
        volumeMounts: [{name: data, mountPath: /data}, {name: other, mountPath: /other}]
  volumeClaimTemplates: [{metadata: {name: data}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: "on"}
`, "deploy/web.yml\n" + `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{image: "web:2", ports: [{name: h, containerPort: 8088}], readinessProbe: {httpGet: {path: /ready, port: h}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: h}]}
`}, "deploy", []string{"count: 3\n", "image: db:1\n", `"$$(A){{\"{{\"}}b}}"`, `N: "5"`, `FROM: "on"`, `"{{.Name}}-data:/data"`, "mounts /other",
			"image: web:2\n", `aliases: ["front"]`, "http://web:8088", `path: "/ready?key={key}"`, "maps port 80 to 8088"}, nil},
		{"Dockerfile", []string{"api/Dockerfile\nFROM python:3\nEXPOSE 9000\nRUN pip install flask\n"}, "api/Dockerfile",
			[]string{"compose: bloodhound.compose.yaml\n", "http://api:9000", "RUN steps have no network"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, text, _ := found(t, c.files...)
			if f.Worlds[0].Name != c.best {
				t.Errorf("the best world is %q, want %q", f.Worlds[0].Name, c.best)
			}
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in\n%s", part, text)
				}
			}
			for _, part := range c.not {
				if strings.Contains(text, part) {
					t.Errorf("%q in\n%s", part, text)
				}
			}
		})
	}
}

// What init writes as comments loads when the marks of the comments are removed.
func TestScaffoldComments(t *testing.T) {
	post := strings.NewReplacer("PUT /", "POST /").Replace(goServer)
	parses := strings.Replace(goServer, "func main() {", "func put(r *http.Request) { json.NewDecoder(r.Body).Decode(&v) }\n\nfunc main() {", 1)
	for _, c := range []struct {
		name, server string
		lines        []string // of the world, by their first words
		judged       bool     // by the property linearizable
	}{
		{"a store", goServer, []string{"disk:"}, true},
		{"a server of POST", post, []string{"disk:", "stop:", "- name: linearizable", "  kind:", "  description:", "  check:"}, true},
		{"a server of JSON", parses, []string{"disk:", "stop:", "- name: linearizable", "  kind:", "  description:", "  check:"}, true},
		{"no server", goTool, []string{"disk:", "stop:"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, "go.mod\nmodule x\n", "main.go\n"+c.server)
			w := scaffolding.Find(dir).Worlds[0]
			text := string(w.Files[scaffolding.ConfigName])
			for _, line := range c.lines {
				if strings.Count(text, "\n  # "+line) != 1 {
					t.Errorf("the comment %q is not there once in\n%s", line, text)
				}
				text = strings.Replace(text, "\n  # "+line, "\n  "+line, 1)
			}
			if before, after, ok := strings.Cut(text, "\n#   driver: command\n"); ok { // instead of the workload
				_, after, _ = strings.Cut(after, "\n\n# What must hold")
				text = before + "\nworkload:\n  driver: command\n  config: {command: python3 driver.py}\n\n# What must hold" + after
			}
			w.Files[scaffolding.ConfigName] = []byte(text)
			r := loadedWorld(t, dir, w)
			if got := r.Spec.Faults.DiskProfile; got != "posix-minimal" {
				t.Errorf("the profile of disks is %q", got)
			}
			judged := slices.ContainsFunc(r.Spec.Properties, func(p world.Property) bool { return p.Name == "linearizable" })
			if judged != c.judged {
				t.Errorf("linearizable is judged: %v, want %v", judged, c.judged)
			}
		})
	}
}

// A folder of several programs offers all of them, servers first, and each loads.
func TestScaffoldOffersEach(t *testing.T) {
	f, _, _ := found(t, "go.mod\nmodule x\n", "cmd/tool/main.go\n"+goTool, "cmd/server/main.go\n"+goServer, "server_test.go\n"+goTool,
		"vendor/v/main.go\n"+goTool, "compose.yaml\nservices: {db: {image: postgres}}\n", "Dockerfile\nFROM scratch\n",
		"ci/compose.yml\nservices: {db: {image: postgres}}\n")
	var names []string
	for _, w := range f.Worlds {
		names = append(names, w.Name)
		loadedWorld(t, tree(t, "compose.yaml\nservices: {db: {image: postgres}}\n", "ci/compose.yml\nservices: {db: {image: postgres}}\n"), w)
	}
	if got := strings.Join(names, " "); got != "compose.yaml ./cmd/server ./cmd/tool ci/compose.yml Dockerfile" {
		t.Errorf("worlds %s", got)
	}
	for name, want := range map[string]string{"cmd/tool/": "./cmd/tool", "./Dockerfile": "Dockerfile", "example": "example"} {
		if w, err := f.Choose(name); err != nil || w.Name != want {
			t.Errorf("%s chooses %q, %v", name, w.Name, err)
		}
	}
	if _, err := f.Choose("nothing"); err == nil ||
		!strings.Contains(err.Error(), "choose one of compose.yaml, ./cmd/server, ./cmd/tool, ci/compose.yml, Dockerfile, example") {
		t.Errorf("a name of nothing: %v", err)
	}
}

// A stranger's folder is read within bounds, and its names and values stay names and values.
func TestScaffoldOfHostileFolders(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.go")
	if err := os.WriteFile(secret, []byte(goServer), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		prepare func(dir string) error
		note    string
	}{
		{"a link", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "package.json")) }, "package.json is a symbolic link"},
		{"a link to a program", func(dir string) error { return os.Symlink(secret, filepath.Join(dir, "main.go")) }, ""},
		{"a link to a folder", func(dir string) error { return os.Symlink(filepath.Dir(secret), filepath.Join(dir, "cmd")) }, ""},
		{"a link to sources", func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "Cargo.toml"), []byte("[package]\nname = \"x\"\n"), 0o666); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(filepath.Dir(secret), "main.rs"), []byte("fn main() {}"), 0o666); err != nil {
				return err
			}
			return os.Symlink(filepath.Dir(secret), filepath.Join(dir, "src"))
		}, ""},
		{"a link to the folder itself", func(dir string) error { return os.Symlink(".", filepath.Join(dir, "loop")) }, ""},
		{"a pipe", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "compose.yaml"), 0o666) }, "compose.yaml is not a regular file"},
		{"a large file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM x\n"+strings.Repeat("# x\n", 1<<20)), 0o666)
		}, "Dockerfile has more than 1024 KiB"},
		{"a binary file", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "package.json"), []byte("{\"main\":\"a.js\"}\x00"), 0o666)
		}, "package.json is not text"},
		{"no JSON", func(dir string) error { return os.WriteFile(filepath.Join(dir, "package.json"), []byte("{"), 0o666) },
			"package.json cannot be read as a package"},
		{"a Helm template", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "d.yaml"), []byte("apiVersion: v1\nkind: Deployment\nmetadata: {{ .Values.x }}\n"), 0o666)
		}, "d.yaml is a Helm template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, "go.mod\nmodule x\n")
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			f := scaffolding.Find(dir)
			if len(f.Worlds) > 0 {
				t.Errorf("it was taken for a program: %q", f.Worlds[0].What)
			}
			if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// Names and values that are made to break out of a command, a comment or YAML do not.
func TestScaffoldQuotes(t *testing.T) {
	evil := "x\\n  y: {command: rm}\\t\\\"'`$(id)${HOME}{{.Name}}"
	manifest := func(name, image string) string {
		return "d.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
			"}\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n" +
			"      - {image: \"" + image + "\", command: [\"" + evil + "\", a], env: [{name: V, value: \"" + evil +
			"\"}], volumeMounts: [{name: v, mountPath: \"\\L y: 2\\N  y: 3" + evil + "\"}]}\n"
	}
	_, text, r := found(t, manifest("web", "web:1"))
	want := "x\n  y: {command: rm}\t\"'`$(id)${HOME}{{.Name}}"
	n := node1(t, r, "web1")
	if n.Command[0] != want {
		t.Errorf("the command is %q, want %q", n.Command, want)
	}
	if !strings.Contains(strings.Join(n.Env, "\x00")+"\x00", "V="+want+"\x00") {
		t.Errorf("the environment is %q, want V=%q", n.Env, want)
	}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == 0x85 || r == 0x2028 }) {
		if strings.HasPrefix(line, "  y:") || strings.HasPrefix(line, " y:") {
			t.Errorf("a value became a key in\n%s", text)
		}
	}
	for _, m := range []string{manifest("\""+evil+"\"", "web:1"), manifest("web", evil)} {
		if f := scaffolding.Find(tree(t, m)); len(f.Worlds) > 0 {
			t.Errorf("a name that is none was taken: %q", f.Worlds[0].What)
		}
	}
	found(t, "package.json\n{\"name\":\""+evil+"\",\"main\":\"a.js\"}", "a.js\nx")
	if f := scaffolding.Find(tree(t, "package.json\n{\"main\":\"../../"+evil+"\",\"scripts\":{\"start\":\"node x; rm -r .\"}}")); len(f.Worlds) > 0 {
		t.Errorf("a path outside was taken: %s", f.Worlds[0].Files[scaffolding.ConfigName])
	}
}
