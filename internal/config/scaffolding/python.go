package scaffolding

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	mainGuard = lazyregexp.New(`(?m)^if\s+__name__\s*==\s*["']__main__["']`)
	asgiApp   = lazyregexp.New(`(?m)^([a-z]\w*)\s*=\s*(?:FastAPI|Starlette)\(`)
	flaskApp  = lazyregexp.New(`(?m)^([a-z]\w*)\s*=\s*Flask\(`)
	packaged  = lazyregexp.New(`(?m)^\s*(?:from|import)\s+(?:flask|fastapi|starlette|aiohttp|django|tornado|bottle|sanic|quart|requests|httpx|redis|psycopg2?|sqlalchemy)\b`)
	nested    = lazyregexp.New(`(?:^|/)(?:tests?|docs|scripts|migrations)/`)
)

// pythonPrograms are files that Python runs: those with a main part or a loop that serves, and applications of web
// frameworks.
func pythonPrograms(f *folder) (found []sketch) {
	for _, name := range f.files {
		base := path.Base(name)
		if path.Ext(name) != ".py" || strings.Count(name, "/") > 2 || nested.MatchString(name) || len(found) >= maxWorlds ||
			strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.py") ||
			base == "conftest.py" || base == "setup.py" {
			continue
		}
		text := f.read(name)
		switch {
		case mainGuard.MatchString(text), base == "__main__.py", strings.Contains(text, "serve_forever("):
			found = append(found, f.pythonProgram(name, "python3", name))
		case asgiApp.MatchString(text):
			found = append(found, f.pythonApp(name, 8000, "python3", "-m", "uvicorn", "--app-dir", path.Dir(name),
				moduleName(name)+":"+firstGroup(asgiApp, text)))
		case flaskApp.MatchString(text):
			found = append(found, f.pythonApp(name, 5000, "python3", "-m", "flask", "--app",
				strings.TrimSuffix(name, ".py")+":"+firstGroup(flaskApp, text), "run"))
		}
	}
	slices.SortStableFunc(found, func(a, b sketch) int {
		return cmp.Or(cmp.Compare(b2i(a.server.port == 0), b2i(b.server.port == 0)),
			cmp.Compare(strings.Count(a.name, "/"), strings.Count(b.name, "/")))
	})
	return found
}

// b2i orders false before true.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func moduleName(name string) string { return strings.TrimSuffix(path.Base(name), ".py") }

// pythonProgram is a file of Python. Other files of its folder may have the server.
func (f *folder) pythonProgram(name string, command ...string) sketch {
	s := f.serverOf([]string{name})
	if !f.listening(name) {
		text := f.read(name)
		var beside []string
		for _, other := range f.ending(path.Dir(name), ".py") {
			imports := strings.Contains(text, "import "+moduleName(other)) || strings.Contains(text, "from "+moduleName(other))
			if other != name && imports {
				beside = append(beside, other)
			}
		}
		s = f.serverOf(append([]string{name}, beside...))
		if !s.http {
			s.port = 0
		}
	}
	title := moduleName(name)
	if title == "__main__" || title == "main" || title == "app" {
		title = cmp.Or(strings.TrimPrefix(path.Base(path.Dir(name)), "."), title)
	}
	k := program(name, "the Python program "+name, title, s, nil, command...)
	if f.has("requirements.txt") || f.has("pyproject.toml") || packaged.MatchString(f.read(name)) {
		k.addCheck("Install its packages for the python3 in /usr/bin, which nodes run, or name another one in `command`, such as venv/bin/python3.")
	}
	return k
}

// pythonApp is an application that a server of its framework runs, on all addresses.
func (f *folder) pythonApp(name string, port int, command ...string) sketch {
	k := f.pythonProgram(name, append(command, "--host", "0.0.0.0", "--port", strconv.Itoa(port))...)
	k.nodes[0].ready = port
	k.server.port, k.server.portIn, k.server.http, k.server.loopback = port, "", true, false
	k.what = "the Python application " + name + ", HTTP on port " + strconv.Itoa(port)
	return k
}
