package scaffolding

import (
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// dataPlace is a flag or a variable that says where a program keeps its data, and has a default.
type dataPlace struct {
	flag     string // with its dashes
	variable string
	standard string // the default
}

// The names of such flags. Those of vague names also need a default that is about data.
const (
	dataNames  = `(?:[a-z]+[-_])?(?:data|db|database|store|storage|state|wal)(?:[-_]?(?:dir|directory|path|file|folder))?`
	vagueNames = `dir|directory|path|file|folder|root`
	aFlag      = `((?i:` + dataNames + `|` + vagueNames + `))`
	aVariable  = `((?:[A-Z]+_)*?(?:DATA|DB|DATABASE|STORE|STORAGE|STATE|WAL)(?:_?(?:DIR|DIRECTORY|PATH|FILE|FOLDER))?)`
	aPath      = `["']([A-Za-z0-9_./-]+)["']`
)

var (
	dataFlags = []*lazyregexp.Regexp{
		// Go: flag.String("data", "./data", ...), StringVar and pflag's StringP
		lazyregexp.New(`\bString(?:Var)?P?\(\s*(?:&[\w.]+,\s*)?"` + aFlag + `",\s*(?:"\w?",\s*)?` + aPath),
		// Python: add_argument("--db", default="bank.db"), and click's option
		lazyregexp.New(`(?:add_argument|[oO]ption)\(\s*(?:["']-\w["'],\s*)?["']--` + aFlag +
			`["'][^)]{0,160}?default\s*=\s*(?:Path\()?` + aPath),
		// Node.js: commander's option("--data <dir>", "...", "./data"), and yargs' and parseArgs' {default: "./data"}
		lazyregexp.New(`\.option\(\s*["'](?:-\w,\s*)?--` + aFlag + `\b[^"']*["']\s*,\s*["'][^"']*["']\s*,\s*` + aPath),
		lazyregexp.New(`\b` + aFlag + `["']?\s*[:,]\s*\{[^}]{0,120}?default:\s*` + aPath),
		// Java: picocli's names = "--data", defaultValue = "data"
		lazyregexp.New(`names\s*=\s*\{?[^)}]{0,30}?"--` + aFlag + `"[^)]{0,120}?defaultValue\s*=\s*` + aPath),
	}
	// Rust: clap's field, below its default.
	clapData = lazyregexp.New(`#\[(?:arg|clap)\([^\n]*\blong\b[^\n]*default_value\s*=\s*` + aPath +
		`[^\n]*\]\s*(?:pub\s+)?` + aFlag + `\s*:`)
	dataVariables = []*lazyregexp.Regexp{
		// getenv("DATA_DIR", "data"), getOrDefault, os.environ.get and helpers of their kind
		lazyregexp.New(`(?i:env\w*|get|getordefault|lookup\w*)\(\s*["']` + aVariable + `["']\s*,\s*` + aPath),
		// process.env.DATA_DIR || "./data", os.getenv("DATA_DIR") or "data", ?? in C#
		lazyregexp.New(`(?:env\.|\(["']|\[["'])` + aVariable + `(?:["'][)\]])?\s*(?:\|\||\?\?|\bor\b)\s*` + aPath),
		// env::var("DATA_DIR").unwrap_or_else(|_| "data".into())
		lazyregexp.New(`\("` + aVariable + `"\)\s*\.unwrap_or(?:_else)?\(\s*(?:\|_\|\s*)?(?:String::from\(\s*)?` + aPath),
		// cmp.Or(os.Getenv("DATA_DIR"), "data")
		lazyregexp.New(`\bOr\(\s*os\.Getenv\("` + aVariable + `"\)\s*,\s*` + aPath),
	}

	vagueName    = lazyregexp.New(`(?i)^(?:` + vagueNames + `)$`)
	namesAFolder = lazyregexp.New(`(?i)(?:data|dir|directory|folder)$`)
	aboutData    = lazyregexp.New(`(?i)data|db|stor|state|wal|journal|` + dataFile.String())
	dataFile     = lazyregexp.New(`(?i)\.(?:db|sqlite3?|log|wal|aof|rdb|bin|dat|jsonl?|txt|csv)$`)
	inMemory     = lazyregexp.New(`^/(?:tmp|var/tmp|run|dev/shm)/`)
)

// dataPlaceOf finds where a program keeps its data by default, if a flag or a variable can change that, and if the
// place is in the project or in a folder that a power loss empties.
func dataPlaceOf(text string) (dataPlace, bool) {
	text = text[:min(len(text), maxSourceBytes)]
	accept := func(name, standard string) bool {
		relative := !strings.HasPrefix(standard, "/") && !strings.Contains(standard, "..") && path.Clean(standard) != "."
		switch {
		case !relative && !inMemory.MatchString(standard):
			return false
		case vagueName.MatchString(name):
			return aboutData.MatchString(standard)
		}
		// The default of --db or --store may be a name that is no file, such as that of a host.
		return namesAFolder.MatchString(name) || strings.Contains(standard, "/") || dataFile.MatchString(standard)
	}
	for _, pattern := range dataFlags {
		for _, m := range pattern.FindAllStringSubmatch(text, 20) {
			if accept(m[1], m[2]) {
				return dataPlace{flag: "--" + m[1], standard: m[2]}, true
			}
		}
	}
	for _, m := range clapData.FindAllStringSubmatch(text, 20) {
		if accept(m[2], m[1]) {
			return dataPlace{flag: "--" + strings.ReplaceAll(m[2], "_", "-"), standard: m[1]}, true
		}
	}
	for _, pattern := range dataVariables {
		for _, m := range pattern.FindAllStringSubmatch(text, 20) {
			if accept(m[1], m[2]) {
				return dataPlace{variable: m[1], standard: m[2]}, true
			}
		}
	}
	return dataPlace{}, false
}

// dataMount is where the volume of such data is mounted.
const dataMount = "/data"

// inVolume is the value that moves the data to the volume: a file keeps its name.
func (d dataPlace) inVolume() string {
	base := path.Base(d.standard)
	if !dataFile.MatchString(base) && namesAFolder.MatchString(strings.TrimLeft(d.flag+d.variable, "-")) {
		return dataMount
	}
	return path.Join(dataMount, base)
}

// setting is how a person writes the place.
func (d dataPlace) setting() string {
	if d.variable != "" {
		return d.variable + "=" + d.inVolume()
	}
	return d.flag + " " + d.inVolume()
}

// filled reports whether the project has files at a path.
func (f *folder) filled(name string) bool {
	name = path.Clean(name)
	return slices.ContainsFunc(f.files, func(file string) bool { return file == name || below(name, file) })
}
