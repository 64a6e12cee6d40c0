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
	w := found.Worlds[0]
	return string(w.Files[ConfigName]), strings.Join(w.Checks, "\n")
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
		{"a port of another program first", python("REDIS_PORT = int(os.environ.get(\"REDIS_PORT\", \"6379\"))\n    PORT = int(os.environ.get(\"PORT\", \"7123\"))")},
		{"flag.Int", goMain("func main() {\n\tport := flag.Int(\"port\", 7123, \"\")\n\thttp.ListenAndServe(fmt.Sprint(\":\", *port), nil)\n}\n")},
		{"flag.Int of one letter", goMain("func main() {\n\tn := flag.Int(\"p\", 7123, \"\")\n\thttp.ListenAndServe(fmt.Sprint(\":\", *n), nil)\n}\n")},
		{"flag.String", goMain("func main() {\n\ta := flag.String(\"addr\", \":7123\", \"\")\n\thttp.ListenAndServe(*a, nil)\n}\n")},
		{"Node.js", node(`const port = process.env.PORT || 3210;`)},
		{"Node.js, a number of a text", node(`const port = parseInt(process.env.PORT, 10) || 3210;`)},
		{"Node.js, in the call", nodeMain("http.createServer(f).listen(Number(process.env.PORT ?? 3210));\n")},
		{"Java", java(`int p = Integer.parseInt(System.getenv().getOrDefault("PORT", "7123"));`)},
		{"Java with picocli", java(`@Option(names = "--port", defaultValue = "7123") int p;`)},
		{"C", map[string]string{"kvd.c": "#define PORT 7123\nint main(void) {\n  a.sin_port = htons(PORT);\n  listen(s, 5);\n}\n"}},
		{"clap", map[string]string{"Cargo.toml": "[package]\nname = \"x\"\n", "src/main.rs": "use axum::Router;\nstruct Args {\n    #[arg(long, default_value_t = 7123)]\n" +
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
