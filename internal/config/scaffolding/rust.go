package scaffolding

import (
	"path"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	cargoName = lazyregexp.New(`(?m)^\s*name\s*=\s*"([A-Za-z0-9_-]+)"`)
	cargoBin  = lazyregexp.New(`(?m)^\[\[bin\]\]`)
	rustMain  = lazyregexp.New(`(?m)\bfn main\(`)
)

// rustPrograms are the binaries of packages of Cargo.
func rustPrograms(f *folder) (found []sketch) {
	for _, manifest := range f.named("Cargo.toml") {
		dir, text := path.Dir(manifest), f.read(manifest)
		_, rest, ok := strings.Cut(text, "[package]")
		if !ok || len(found) >= maxWorlds {
			continue
		}
		name := firstGroup(cargoName, rest)
		if at := cargoBin.FindStringIndex(text); at != nil {
			if bin := firstGroup(cargoName, text[at[1]:]); bin != "" {
				name = bin
			}
		}
		if file := path.Join(dir, "src/main.rs"); name != "" && rustMain.MatchString(f.read(file)) {
			found = append(found, f.rustProgram(manifest, manifest, name, file))
		}
		for _, file := range f.ending(path.Join(dir, "src/bin"), ".rs") {
			if len(found) < maxWorlds {
				found = append(found, f.rustProgram(file, manifest, strings.TrimSuffix(path.Base(file), ".rs"), file))
			}
		}
	}
	return found
}

func (f *folder) rustProgram(name, manifest, binary, file string) sketch {
	sources := []string{file}
	for _, other := range f.files {
		shared := !strings.Contains(other, "/bin/") && path.Base(other) != "main.rs"
		if path.Ext(other) == ".rs" && shared && below(path.Dir(manifest), other) {
			sources = append(sources, other)
		}
	}
	build := []string{"cargo", "build", "--release", "--manifest-path", manifest, "--target-dir", "target",
		"--bin", binary}
	return program(name, "the Rust program "+binary+" of "+manifest, binary,
		f.serverOf(sources), build, "target/release/"+binary)
}
