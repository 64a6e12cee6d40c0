package scaffolding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configured is the configuration of the best world of a folder with some files, and what is said about it.
func configured(t *testing.T, files map[string]string) (text, checks string) {
	t.Helper()
	w := best(t, files)
	return string(w.Files[ConfigName]), strings.Join(w.Checks, "\n")
}

// best is the first world of a folder with some files.
func best(t *testing.T, files map[string]string) World {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found := Find(dir)
	if len(found.Worlds) == 0 {
		t.Fatalf("nothing was found; notes: %q", found.Notes)
	}
	return found.Worlds[0]
}

// expect compares a text with parts that it has and parts that it does not have.
func expect(t *testing.T, text string, want, not []string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	for _, part := range not {
		if strings.Contains(text, part) {
			t.Errorf("%q in\n%s", part, text)
		}
	}
}

func one(name, content string) map[string]string { return map[string]string{name: content} }

func goMain(body string) map[string]string {
	return map[string]string{"go.mod": "module x\n", "main.go": "package main\n\nimport \"net/http\"\n\n" + body}
}

func nodeMain(body string) map[string]string {
	return map[string]string{"package.json": `{"main": "server.js"}`,
		"server.js": "const http = require('http');\n" + body}
}

func pythonMain(body string) map[string]string {
	return one("server.py", "import argparse, json, os\nfrom http.server import *\n\n\n"+body+
		"\n\nif __name__ == \"__main__\":\n    HTTPServer((\"\", 8000), Handler).serve_forever()\n")
}

func javaMain1(body string) map[string]string {
	return one("Main.java", "import com.sun.net.httpserver.*;\n\npublic class Main {\n"+
		"    public static void main(String[] args) throws Exception {\n"+
		"        HttpServer server = HttpServer.create(new InetSocketAddress(8090), 0);\n"+body)
}

// The parts of a configuration that say how keys are written, and whether the property is judged.
const (
	writesKeys = "{type: put,"
	byPost     = "options: {put_method: POST}\n"
	judged     = "\n  - name: linearizable\n"
	suggested  = "\n  # - name: linearizable\n"
	recovers   = "\n  - name: works again\n"
)

// A route has the methods of the handler in which it stands. The property linearizable is judged where PUT seems to store
// what GET returns, and is a comment where that is not clear.
func TestMethodsOfRoutes(t *testing.T) {
	for _, c := range []struct {
		name      string
		files     map[string]string
		want, not []string
	}{
		{"Java, a switch over POST and GET beside a map with put", javaMain1(`
        server.createContext("/counters/", ex -> handle(ex));
    }

    static void handle(HttpExchange ex) {
        counters.put(name, 1L);
        switch (ex.getRequestMethod()) {
            case "POST" -> reply(ex, 200, store.increment(name));
            case "GET" -> reply(ex, 200, store.get(name));
            default -> reply(ex, 405, "no");
        }
    }
}
`), []string{byPost, writesKeys, `path: "/counters/{key}"`, suggested, recovers, "Only where POST stores the body"}, []string{judged}},
		{"Java, equals", javaMain1(`
        server.createContext("/kv/", ex -> {
            if ("PUT".equals(ex.getRequestMethod())) {
                values.put(key, body);
            }
        });
    }
}
`), []string{writesKeys, judged}, []string{byPost, suggested}},
		{"Python, a route of GET and another one of POST", pythonMain(`class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health":
            return self.reply(200)
        if self.path.startswith("/accounts/"):
            return self.reply(200)

    def do_POST(self):
        if self.path != "/transfers":
            return self.reply(404)
        transfer(self.rfile.read())
`), []string{`{type: get, weight: 1, path: "/accounts/{key}"`, "POST /transfers", recovers},
			[]string{writesKeys, byPost, "linearizable"}},
		{"Python, a route in a function of all methods", pythonMain(`class Handler(BaseHTTPRequestHandler):
    def name(self):
        return re.fullmatch(r"/settings/([\w.-]+)", self.path)

    def do_GET(self):
        reply(self.name())

    def do_PUT(self):
        store(self.name())
`), []string{writesKeys, `path: "/settings/{key}"`, judged}, []string{byPost}},
		{"Go, POST stores", goMain(`func main() {
	http.HandleFunc("POST /notes/{id}", write)
	http.HandleFunc("GET /notes/{id}", read)
	http.ListenAndServe(":8080", nil)
}
`), []string{byPost, `path: "/notes/{key}"`, suggested}, []string{judged}},
		{"Go, methods in the handler of a route", goMain(`func main() {
	http.HandleFunc("/queue/", queue)
	http.HandleFunc("/items/", items)
	http.ListenAndServe(":8080", nil)
}

func queue(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		return
	}
}

func items(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPut:
		put(r)
	case http.MethodGet:
		get(r)
	}
}
`), []string{writesKeys, `path: "/items/{key}"`, judged}, []string{byPost, "/queue"}},
		{"Go, PUT increments", goMain(`func main() {
	http.HandleFunc("PUT /likes/{id}", func(w http.ResponseWriter, r *http.Request) {
		store.Increment(r.PathValue("id"))
	})
	http.HandleFunc("GET /likes/{id}", read)
	http.ListenAndServe(":8080", nil)
}
`), []string{"python3 driver.py, announces: true", "operations: [like, read]", "GET /likes/{key}"}, []string{judged, byPost}},
		{"Node.js, methods around routes", nodeMain(`http.createServer((req, res) => {
  if (req.method === 'GET') {
    if (req.url.startsWith('/accounts/')) return read(req, res);
  } else if (req.method === 'POST') {
    if (req.url === '/transfers') return transfer(req, res);
  }
}).listen(3000);
`), []string{`{type: get, weight: 1, path: "/accounts/{key}"`, "POST /transfers"}, []string{writesKeys, "linearizable"}},
		{"Node.js, a path in parts", nodeMain(`http.createServer((req, res) => {
  const parts = req.url.slice(1).split('/');
  if (parts[0] === 'users') {
    if (req.method === 'PUT') return write(parts[1], req, res);
    return read(parts[1], res);
  }
}).listen(3000);
`), []string{writesKeys, `path: "/users/{key}"`, judged}, []string{byPost}},
		{"Flask, methods of a route", one("server.py", `from flask import Flask
app = Flask(__name__)

@app.route("/kv/<key>", methods=["GET", "PUT"])
def kv(key):
    return values[key]

@app.route("/stats/<key>")
def stats(key):
    return "1"
`), []string{writesKeys, `path: "/kv/{key}"`, judged}, []string{byPost}},
		{"Express, PUT enqueues", nodeMain(`const app = require('express')();
app.put('/jobs/:id', (req, res) => {
  queue.enqueue(req.params.id);
});
app.get('/jobs/:id', (req, res) => res.send(state));
app.listen(3000);
`), []string{writesKeys, suggested}, []string{judged}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := configured(t, c.files)
			expect(t, text, c.want, c.not)
		})
	}
}

// Where a program parses the bodies of writes as JSON, the workload only reads, and both the file and the screen say why.
func TestBodiesOfJSON(t *testing.T) {
	const parses = "parses bodies as JSON"
	for _, c := range []struct {
		name  string
		files map[string]string
		json  bool
	}{
		{"Node.js", nodeMain(`http.createServer(async (req, res) => {
  const m = /^\/items\/([\w.-]+)$/.exec(req.url);
  switch (req.method) {
    case 'GET': return res.end(JSON.stringify(items.get(m[1])));
    case 'PUT': {
      const doc = JSON.parse(await readBody(req));
      items.set(m[1], doc.value);
    }
  }
}).listen(3000);
`), true},
		{"Node.js that parses its file", nodeMain(`const items = JSON.parse(fs.readFileSync('items.json'));
http.createServer(async (req, res) => {
  const m = /^\/items\/([\w.-]+)$/.exec(req.url);
  if (req.method === 'PUT') items[m[1]] = await readBody(req);
}).listen(3000);
`), false},
		{"Express", nodeMain(`const app = require('express')();
app.use(express.json());
app.put('/items/:id', (req, res) => store(req.body));
app.get('/items/:id', (req, res) => res.json(load()));
app.listen(3000);
`), true},
		{"Python", pythonMain(`class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/items/"):
            return self.reply(200)

    def do_PUT(self):
        if self.path.startswith("/items/"):
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            store(document["value"])
`), true},
		{"Python that parses its log", pythonMain(`for line in open("log"):
    record = json.loads(line)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/items/"):
            return self.reply(200)

    def do_PUT(self):
        if self.path.startswith("/items/"):
            store(self.rfile.read())
`), false},
		{"Flask", one("server.py", `from flask import Flask, request
app = Flask(__name__)

@app.put("/kv/<key>")
def put(key):
    values[key] = request.get_json()["value"]

@app.get("/kv/<key>")
def get(key):
    return values[key]
`), true},
		{"FastAPI with a model", one("server.py", `from fastapi import FastAPI
from pydantic import BaseModel
app = FastAPI()

class Item(BaseModel):
    value: str

@app.get("/items/{name}")
def read(name: str):
    return items[name]

@app.put("/items/{name}")
def write(name: str, item: Item):
    items[name] = item
`), true},
		{"Python, in a function that the handler calls", pythonMain(`class Handler(BaseHTTPRequestHandler):
    def document(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self):
        if self.path.startswith("/items/"):
            return self.reply(200)

    def do_PUT(self):
        if self.path.startswith("/items/"):
            store(self.document()["value"])
`), true},
		{"aiohttp with text", one("server.py", `from aiohttp import web

async def write(request):
    items[request.match_info["name"]] = await request.text()

app = web.Application()
app.router.add_get("/items/{name}", read)
app.router.add_put("/items/{name}", write)
if __name__ == "__main__":
    web.run_app(app, port=8000)
`), false},
		{"Go", goMain(`func main() {
	http.HandleFunc("PUT /items/{id}", write)
	http.HandleFunc("GET /items/{id}", read)
	http.ListenAndServe(":8080", nil)
}

func write(w http.ResponseWriter, r *http.Request) {
	var i item
	json.NewDecoder(r.Body).Decode(&i)
}
`), true},
		{"Go with JSON of another route", goMain(`func main() {
	http.HandleFunc("PUT /items/{id}", write)
	http.HandleFunc("GET /items/{id}", read)
	http.HandleFunc("POST /admin", admin)
	http.ListenAndServe(":8080", nil)
}

func write(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	store(b)
}

func admin(w http.ResponseWriter, r *http.Request) {
	json.NewDecoder(r.Body).Decode(&settings)
}
`), false},
		{"Spring", one("Main.java", `import org.springframework.x;
public class Main {
    public static void main(String[] args) { SpringApplication.run(Main.class); }
    @PutMapping("/items/{id}")
    void write(@PathVariable String id, @RequestBody Item item) { store(item); }
    @GetMapping("/items/{id}")
    Item read(@PathVariable String id) { return load(id); }
}
`), true},
		{"Spring with text", one("Main.java", `import org.springframework.x;
public class Main {
    public static void main(String[] args) { SpringApplication.run(Main.class); }
    @PutMapping("/items/{id}")
    void write(@PathVariable String id, @RequestBody String item) { store(item); }
    @GetMapping("/items/{id}")
    String read(@PathVariable String id) { return load(id); }
}
`), false},
		{"axum", map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n", "src/main.rs": `use axum::Router;
fn main() {
    let l = TcpListener::bind("0.0.0.0:3000");
    axum::serve(l, Router::new().route("/kv/{key}", get(read).put(write)));
}
async fn write(Path(key): Path<String>, Json(item): Json<Item>) -> StatusCode {
    StatusCode::OK
}
`}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, checks := configured(t, c.files)
			if c.json {
				expect(t, text, []string{parses, "docs write-a-driver", "#   driver: command\n", "{type: get,", suggested, recovers},
					[]string{writesKeys, judged})
				expect(t, checks, []string{parses, "PUT /", "edit driver.py and use it"}, nil)
			} else {
				expect(t, text, []string{writesKeys, judged}, []string{parses, suggested})
			}
		})
	}
}

// The default of a flag or a variable is the port.
func TestDefaultsOfPorts(t *testing.T) {
	serve := "\n    HTTPServer((\"\", args.port), H).serve_forever()\n"
	python := func(line string) map[string]string {
		return one("server.py", "from http.server import *\nif __name__ == \"__main__\":\n    "+line+serve)
	}
	node := func(line string) map[string]string {
		return nodeMain(line + "\nhttp.createServer(f).listen(port);\n")
	}
	java := func(line string) map[string]string {
		return one("Main.java", "import com.sun.net.httpserver.*;\npublic class Main {\n"+
			"  public static void main(String[] a) {\n    "+line+"\n    HttpServer.create(new InetSocketAddress(p), 0);\n  }\n}\n")
	}
	for _, c := range []struct {
		name  string
		files map[string]string
	}{
		{"argparse", python(`p.add_argument("--port", type=int, default=7123)`)},
		{"argparse, short and long", python(`p.add_argument("-p", "--http-port", help="where to listen", default=7123, type=int)`)},
		{"argparse over lines", python("p.add_argument(\n        \"--port\",\n        type=int,\n        default=7123,\n    )")},
		{"argparse with a variable", python(`p.add_argument("--port", type=int, default=int(os.environ.get("PORT", "7123")))`)},
		{"click", python(`@click.option("--port", "-p", default=7123, show_default=True)`)},
		{"a parameter", python(`def main(port: int = 7123):`)},
		{"a port of another program first",
			python("REDIS_PORT = int(os.environ.get(\"REDIS_PORT\", \"6379\"))\n    PORT = int(os.environ.get(\"PORT\", \"7123\"))")},
		{"flag.Int", goMain("func main() {\n\tport := flag.Int(\"port\", 7123, \"\")\n\thttp.ListenAndServe(fmt.Sprint(\":\", *port), nil)\n}\n")},
		{"flag.Int of one letter", goMain("func main() {\n\tn := flag.Int(\"p\", 7123, \"\")\n\thttp.ListenAndServe(fmt.Sprint(\":\", *n), nil)\n}\n")},
		{"flag.String", goMain("func main() {\n\ta := flag.String(\"addr\", \":7123\", \"\")\n\thttp.ListenAndServe(*a, nil)\n}\n")},
		{"Node.js", node(`const port = process.env.PORT || 3210;`)},
		{"Node.js, a number of a text", node(`const port = parseInt(process.env.PORT, 10) || 3210;`)},
		{"Node.js, in the call", nodeMain("http.createServer(f).listen(Number(process.env.PORT ?? 3210));\n")},
		{"Java", java(`int p = Integer.parseInt(System.getenv().getOrDefault("PORT", "7123"));`)},
		{"Java with picocli", java(`@Option(names = "--port", defaultValue = "7123") int p;`)},
		{"C", map[string]string{"kvd.c": "#define PORT 7123\nint main(void) {\n  a.sin_port = htons(PORT);\n  listen(s, 5);\n}\n"}},
		{"clap", map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n",
			"src/main.rs": "use axum::Router;\nstruct Args {\n    #[arg(long, default_value_t = 7123)]\n" +
				"    port: u16,\n}\nfn main() { let l = TcpListener::bind((\"0.0.0.0\", args.port)); }\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := configured(t, c.files)
			port := "7123"
			if strings.HasPrefix(c.name, "Node.js") {
				port = "3210"
			}
			expect(t, text, []string{"/dev/tcp/", "/" + port + "\"]"}, []string{"No port was found"})
		})
	}
}

// Data for which a flag or a variable has a default goes to a volume, by the same flag or variable.
func TestVolumesOfData(t *testing.T) {
	mounted := "volumes: [\"data:/data\"]\n"
	goData := func(line string) map[string]string {
		return goMain("func main() {\n\t" + line + "\n\thttp.ListenAndServe(\":8080\", nil)\n}\n")
	}
	left := goData(`dir := flag.String("data", "./data", "")`)
	left["data/kv.log"] = "old"
	for _, c := range []struct {
		name      string
		files     map[string]string
		want, not []string
	}{
		{"Go", goData(`dir := flag.String("data", "./data", "folder of the data")`), []string{mounted, "--data /data\n"}, nil},
		{"Go, StringVar", goData(`flag.StringVar(&c.dir, "data-dir", "var", "")`), []string{mounted, "--data-dir /data\n"}, nil},
		{"Go, cmp.Or", goData(`dir := cmp.Or(os.Getenv("KV_DATA_DIR"), "kv-data")`), []string{mounted, `KV_DATA_DIR: "/data"`}, nil},
		{"Go, in memory", goData(`dir := flag.String("dir", "/tmp/kv-data", "")`),
			[]string{mounted, "--dir /data\n", "A power loss would empty /tmp/kv-data"}, nil},
		{"Go, files are there", left, []string{"Each run starts with a copy of ./data", "`--data /data`"}, []string{"\n    volumes:", "--data /data\n"}},
		{"Go, pages of a site", goData(`dir := flag.String("dir", "./public", "")`), nil, []string{"volumes", "--dir"}},
		{"Go, the name of a database", goData(`db := flag.String("db", "shop", "")`), nil, []string{"volumes", "--db"}},
		{"Go, a host", goData(`db := flag.String("db", "db.internal", "")`), nil, []string{"volumes", "--db"}},
		{"Go, a file in a folder that a variable names", goData(`p := filepath.Join(os.Getenv("DATA_DIR"), "kv.log")`), nil, []string{"volumes"}},
		{"argparse", pythonMain(`p.add_argument("--db", default="data/bank.db")`), []string{mounted, "--db /data/bank.db\n"}, nil},
		{"argparse of a path", pythonMain(`p.add_argument("--path", type=str, default="bank.db")`), []string{mounted, "--path /data/bank.db\n"}, nil},
		{"click", pythonMain(`@click.option("--data", "-d", default="./data")`), []string{mounted, "--data /data\n"}, nil},
		{"Node.js", nodeMain("const dir = process.env.DATA_DIR || './data';\nhttp.createServer(f).listen(3000);\n"),
			[]string{mounted, `DATA_DIR: "/data"`}, nil},
		{"commander", nodeMain("program.option('-d, --data <dir>', 'where', './data');\nhttp.createServer(f).listen(3000);\n"),
			[]string{mounted, "--data /data\n"}, nil},
		{"Java", javaMain1("        Path dir = Path.of(System.getenv().getOrDefault(\"DATA_DIR\", \"data\"));\n    }\n}\n"),
			[]string{mounted, `DATA_DIR: "/data"`}, nil},
		{"clap", map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n",
			"src/main.rs": "use axum::Router;\nstruct Args {\n    #[arg(long, default_value = \"./data\")]\n" +
				"    data_dir: PathBuf,\n}\nfn main() { let l = TcpListener::bind(\"0.0.0.0:3000\"); }\n"}, []string{mounted, "--data-dir /data\n"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := configured(t, c.files)
			expect(t, text, c.want, c.not)
		})
	}
}

// The routes of a service come from the sources that its image is built from.
func TestRoutesOfImages(t *testing.T) {
	app := `from http.server import *


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/settings/"):
            reply()

    def do_PUT(self):
        if self.path.startswith("/settings/"):
            store()


HTTPServer(("", 8000), Handler).serve_forever()
`
	other := strings.ReplaceAll(app, "/settings/", "/jobs/")
	service := func(build string) string {
		return "services:\n  worker: {build: ./worker}\n  app:\n    build: " + build + "\n    ports: [\"8000:8000\"]\n"
	}
	for _, c := range []struct {
		name  string
		files map[string]string
	}{
		{"a folder", map[string]string{"compose.yaml": service("./app"), "app/app.py": app, "worker/w.py": other}},
		{"a context", map[string]string{"docker-compose.yml": service("{context: app, dockerfile: D}"), "app/src/app.py": app, "worker/w.py": other}},
		{"a Compose file below", map[string]string{"deploy/compose.yaml": service("../app"), "app/app.txt": "",
			"worker/w.txt": other, "app/routes.js": nodeRoutes}},
		{"an anchor", map[string]string{"compose.yaml": "x-app: &app\n  build: {context: app}\nservices:\n  app:\n    <<: *app\n    ports: [\"8000:8000\"]\n",
			"app/app.py": app}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, checks := configured(t, c.files)
			expect(t, text, []string{"target: http://app:8000\n", writesKeys, `path: "/settings/{key}"`, judged}, []string{"?key="})
			expect(t, checks, []string{"PUT /settings/{key}"}, []string{"change it to the requests"})
		})
	}
	for name, files := range map[string]map[string]string{
		"an image": {"compose.yaml": "services:\n  app: {image: x, ports: [\"8000:8000\"]}\n", "other/app.txt": app},
		"outside":  {"compose.yaml": service("../../elsewhere")},
	} {
		text, _ := configured(t, files)
		if !strings.Contains(text, "/?key={key}") {
			t.Errorf("%s: a route comes from nowhere:\n%s", name, text)
		}
	}
	text, _ := configured(t, map[string]string{"api/Dockerfile": "FROM python\nEXPOSE 9000\n", "api/routes.js": nodeRoutes})
	expect(t, text, []string{"target: http://api:9000\n", writesKeys, `path: "/settings/{key}"`}, nil)
}

const nodeRoutes = `const app = require('express')();
app.put('/settings/:name', write);
app.get('/settings/:name', read);
app.listen(8000);
`

// What is kept of handlers is bounded, however a source is nested or repeats itself.
func TestRoutesOfHostileSources(t *testing.T) {
	nested := ""
	for i := range 2 * maxBlocks {
		nested += strings.Repeat(" ", i) + "if method == \"PUT\" and path.startswith(\"/a/\"):\n"
	}
	nested += strings.Repeat(strings.Repeat(" ", 2*maxBlocks)+"store()\n", 2*maxBlockLines)
	for name, text := range map[string]string{
		"annotations": strings.Repeat("@PutMapping(\"/a\")\n", 2*maxBlockLines),
		"blocks":      nested,
		"one name":    strings.Repeat("func a(a, a, a) { PUT(\"/a/\", a) }\n", 2*maxBlockLines),
	} {
		blocks := writeBlocks(text)
		for _, r := range routesOf(text) {
			blocks = append(blocks, r.writes...)
		}
		longest := 0
		for _, block := range blocks {
			longest = max(longest, strings.Count(block, "\n"))
		}
		if most := maxBlockLines * (maxHandlers + 1); longest > most && len(blocks) > 1 {
			t.Errorf("%s: a handler of %d lines, want at most %d", name, longest, most)
		}
		if most := maxBlocks + 200*len(routes); len(blocks) > most {
			t.Errorf("%s: %d handlers, want at most %d", name, len(blocks), most)
		}
	}
}

// A script that serves needs no package.
func TestScriptWithoutAPackage(t *testing.T) {
	text, _ := configured(t, map[string]string{"util.js": "module.exports = 1;\n",
		"server.js": "require('http').createServer((q, r) => r.end(q.url === '/items/a')).listen(8123);\n"})
	expect(t, text, []string{"command: node server.js", "8123"}, []string{"util.js"})
}

// Routes that only comments describe are tried, and their writes are named if they are not.
func TestRoutesInComments(t *testing.T) {
	text, _ := configured(t, nodeMain(`// PUT /jobs/ID stores a job, GET /jobs/ID returns it.
http.createServer((req, res) => {
  const id = req.url.split('/')[2];
  if (req.url === '/health') return res.end('ok');
  if (req.method === 'PUT') { store(id, req); }
}).listen(3000);
`))
	expect(t, text, []string{writesKeys, `path: "/jobs/{key}"`, judged}, []string{"/health?key", "/items/"})
	_, checks := configured(t, pythonMain(`class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/accounts/"):
            return self.reply(200)

    def do_POST(self):
        # POST /transfer {"from": "a", "to": "b"}
        body = json.loads(self.rfile.read())
`))
	expect(t, checks, []string{"only GET /accounts/{key} is tried. To also try POST /transfer, edit driver.py"}, nil)
	text, _ = configured(t, nodeMain("http.createServer((req, res) => res.end('ok')).listen(3000);\n"))
	expect(t, text, []string{`# - {type: put, weight: 1, path: "/items/{key}"`}, []string{"\n      - {type: put"})
}

// The usage line of a program fills its command where it asks for ports, files and folders only, and is shown otherwise.
func TestUsageLines(t *testing.T) {
	for _, c := range []struct {
		usage     string
		want, not []string
	}{
		{"usage: kvd PORT DATAFILE", []string{"command: ./kvd 8080 /data/kvd.data\n", `volumes: ["data:/data"]`,
			"follow the program's usage line: kvd PORT DATAFILE"}, []string{"add those"}},
		{"Usage: %s <data-dir> <port> [LEVEL]", []string{"command: ./kvd /data 8080\n", `volumes: ["data:/data"]`}, nil},
		{"usage: kvd MODE PORT", []string{"command: ./kvd\n", "add the ones it needs to `command`. Its usage line is: kvd MODE PORT."},
			[]string{"volumes"}},
		{"usage: kvd serve PORT", []string{"command: ./kvd\n", "Its usage line is"}, []string{"volumes"}},
		{"no arguments", []string{"command: ./kvd\n"}, []string{"usage line"}},
	} {
		text, _ := configured(t, map[string]string{"Makefile": "kvd: kvd.c\n\tcc -o kvd kvd.c\n",
			"kvd.c": "int main(int argc, char **argv) {\n  if (argc != 3) { fprintf(stderr, \"" + c.usage + "\\n\"); }\n  open(argv[1]);\n}\n"})
		expect(t, text, c.want, c.not)
	}
}
