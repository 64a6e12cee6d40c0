package scaffolding

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// nodeFile is a start script that runs one file with node.
var nodeFile = lazyregexp.New(`^(?:NODE_ENV=\w+ )?node ([A-Za-z0-9_./-]+)$`)

// nodePrograms are packages of Node.js.
func nodePrograms(f *folder) (found []sketch) {
	for _, name := range f.named("package.json") {
		if len(found) < maxWorlds {
			found = append(found, f.nodeProgram(name)...)
		}
	}
	if len(f.named("package.json")) == 0 {
		return f.nodeScripts()
	}
	return found
}

// nodeScripts are files that serve, in a folder without a package.
func (f *folder) nodeScripts() (found []sketch) {
	for _, name := range f.files {
		script := slices.Contains([]string{".js", ".mjs", ".cjs"}, path.Ext(name))
		if script && path.Dir(name) == "." && plainPath.MatchString(name) && len(found) < maxWorlds && f.listening(name) {
			found = append(found, f.nodeSketch(name, ".", name, "", false, false))
		}
	}
	return found
}

func (f *folder) nodeProgram(name string) []sketch {
	var p struct {
		Name         string            `json:"name"`
		Main         string            `json:"main"`
		Scripts      map[string]string `json:"scripts"`
		Dependencies map[string]string `json:"dependencies"`
	}
	text := f.read(name)
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		f.note("%s cannot be read as a package", name)
		return nil
	}
	dir := path.Dir(name)
	start := ""
	if m := nodeFile.FindStringSubmatch(strings.TrimSpace(p.Scripts["start"])); m != nil {
		start = m[1]
	}
	builds := p.Scripts["build"] != ""
	for _, file := range []string{start, p.Main, "server.js", "index.js", "app.js", "server.mjs", "index.mjs"} {
		if file = path.Join(dir, file); file == dir || strings.HasPrefix(file, "..") || !plainPath.MatchString(file) {
			continue
		}
		// What a build writes need not be there yet.
		if f.has(file) || builds && (file == path.Join(dir, start) || file == path.Join(dir, p.Main)) {
			return []sketch{f.nodeSketch(name, dir, file, p.Name, builds && !f.has(file), len(p.Dependencies) > 0 || builds)}
		}
	}
	f.note("%s: neither `scripts.start` nor `main` names a file that node can run", name)
	return nil
}

func (f *folder) nodeSketch(name, dir, file, title string, builds, needs bool) sketch {
	sources := []string{}
	if f.has(file) {
		sources = append(sources, file)
	}
	for _, n := range f.files {
		script := slices.Contains([]string{".js", ".mjs", ".cjs", ".ts"}, path.Ext(n))
		if script && below(dir, n) && n != file && !strings.Contains(n, "test") {
			sources = append(sources, n)
		}
	}
	if title = path.Base(title); title == "." || title == "/" { // without the scope
		title = strings.TrimSuffix(path.Base(file), path.Ext(file))
	}
	var steps []string
	locked := f.has(path.Join(dir, "package-lock.json"))
	if needs && locked {
		steps = append(steps, "npm ci")
	}
	if builds {
		steps = append(steps, "npm run build")
	}
	k := program(name, "the Node.js program "+file, title, f.serverOf(sources), shellSteps(dir, steps), "node", file)
	if needs && !locked {
		k.addCheck("The package has dependencies and no package-lock.json: run `npm install` before the first run.")
	}
	return k
}

// shellSteps is a command that does some steps in a folder, nil without steps.
func shellSteps(dir string, steps []string) []string {
	switch {
	case len(steps) == 0:
		return nil
	case dir == "." && len(steps) == 1:
		return strings.Fields(steps[0])
	case dir != ".":
		steps = append([]string{"cd " + dir}, steps...)
	}
	return []string{"sh", "-c", strings.Join(steps, " && ")}
}
