package scaffolding

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// composeNames are the names of Compose files, in the order in which a folder is searched.
var composeNames = []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}

// ComposeIn is the name of the Compose file of a folder, empty if there is none.
func ComposeIn(dir string) string {
	for _, name := range composeNames {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	return ""
}

// composeFile is the Compose file of the folder itself.
func composeFile(f *folder) []sketch {
	for _, base := range composeNames {
		if slices.Contains(f.files, base) {
			return f.composeSketch(base)
		}
	}
	return nil
}

// composeFilesBelow are Compose files further below, which may be about parts of the project.
func composeFilesBelow(f *folder) (found []sketch) {
	for _, name := range f.files {
		if strings.Contains(name, "/") && slices.Contains(composeNames, path.Base(name)) && len(found) < maxWorlds {
			found = append(found, f.composeSketch(name)...)
		}
	}
	return found
}

// composeSketch has the services of a Compose file as nodes.
func (f *folder) composeSketch(name string) []sketch {
	content := f.read(name)
	if content == "" {
		return nil
	}
	front, port, published, services := frontOf([]byte(content))
	s := server{http: !stores[port], port: port, path: "/?key={key}"}
	if published {
		s.portIn = name
	}
	source := f.serverBuiltIn(buildContext([]byte(content), front, path.Dir(name)))
	if s.http {
		s.takeRoutes(source)
	}
	k := sketch{name: name, what: "the Compose file " + name, compose: name, front: front, server: s}
	if services > 0 {
		k.what += " with " + plural.Count(services, "service")
	}
	if s.http && !source.http {
		k.addCheck("The workload sends HTTP requests to %s: change it to the requests that your services take.", front)
	}
	return []sketch{k}
}

// buildContext is the folder whose sources a service is built from, empty if it is built from none of the project.
func buildContext(content []byte, service, dir string) string {
	var f struct {
		Services map[string]struct {
			Build yaml.Node `yaml:"build"`
		} `yaml:"services"`
	}
	if yaml.Unmarshal(content, &f) != nil {
		return ""
	}
	build := f.Services[service].Build
	context := build.Value
	if build.Kind == yaml.MappingNode {
		var long struct {
			Context string `yaml:"context"`
		}
		if build.Decode(&long) != nil {
			return ""
		}
		context = cmp.Or(long.Context, ".")
	}
	if context == "" || path.IsAbs(context) || strings.Contains(context, ":") {
		return ""
	}
	return path.Join(dir, context)
}

// maxSources bounds the files of a build context that are read.
const maxSources = 500

// sourceFiles are names of files that may have the routes of a server.
var sourceFiles = lazyregexp.New(`\.(?:py|js|mjs|cjs|ts|go|java|kt|rs|c)$`)

// testFiles are no part of a program.
var testFiles = lazyregexp.New(`(?i)(?:^|[/_.])tests?[/_.]|^test|Test\.java$`)

// serverBuiltIn reads the sources of a folder from which an image is built. An empty folder has none.
func (f *folder) serverBuiltIn(dir string) server {
	var sources []string
	for _, name := range f.files {
		if len(sources) < maxSources && dir != "" && below(dir, name) && sourceFiles.MatchString(name) && !testFiles.MatchString(name) {
			sources = append(sources, name)
		}
	}
	return f.serverOf(sources)
}

// takeRoutes takes what sources say about requests, if they are those of an HTTP server. Ports and volumes are what the
// image or the Compose file says.
func (s *server) takeRoutes(source server) {
	if !source.http {
		return
	}
	s.path, s.puts, s.post = source.path, source.puts, source.post
	s.register, s.json, s.otherWrites = source.register, source.json, source.otherWrites
}

// serviceName is a name of a service that fits a URL.
var serviceName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// stores are ports of databases and queues, which often are not what a stack is for.
var stores = map[int]bool{
	1433: true, 2181: true, 2379: true, 3306: true, 4222: true,
	5432: true, 5672: true, 6379: true, 9092: true, 9200: true, 11211: true, 27017: true,
}

// frontOf guesses where a Compose file's cluster is reached from outside: at the first port that is published,
// which is better not one of a database, or else at port 80 of the first service.
func frontOf(content []byte) (service string, port int, published bool, services int) {
	service, port = "SERVICE", 80
	var f struct {
		Services yaml.Node `yaml:"services"`
	}
	if yaml.Unmarshal(content, &f) != nil || f.Services.Kind != yaml.MappingNode {
		return service, port, false, 0
	}
	named := false
	for i := 0; i+1 < len(f.Services.Content); i += 2 {
		services++
		name := f.Services.Content[i].Value
		if !serviceName.MatchString(name) {
			continue
		}
		if !named {
			service, named = name, true
		}
		if p := publishedPort(f.Services.Content[i+1]); p > 0 && (!published || stores[port] && !stores[p]) {
			service, port, published = name, p, true
		}
	}
	return service, port, published, services
}

// publishedPort is the port within the container that a service publishes first, 0 if there is none.
func publishedPort(service *yaml.Node) int {
	var s struct {
		Ports []yaml.Node `yaml:"ports"`
	}
	if service.Decode(&s) != nil || len(s.Ports) == 0 || s.Ports[0].Kind != yaml.ScalarNode {
		return 0
	}
	parts := strings.Split(s.Ports[0].Value, ":")
	port, _, _ := strings.Cut(parts[len(parts)-1], "/")
	if n, err := strconv.Atoi(port); err == nil && n > 0 && n < 1<<16 {
		return n
	}
	return 0
}

// dockerCompose is the file that gives a Dockerfile's image to a node.
const dockerCompose = "bloodhound.compose.yaml"

var (
	exposed    = lazyregexp.New(`(?mi)^\s*EXPOSE\s+(\d{1,5})\b`)
	portInFile = lazyregexp.New(`(?mi)^\s*ENV\s+PORT[= ](\d{2,5})\b`)
	fetches    = lazyregexp.New(`(?mi)\b(apt-get|apk add|pip3? install|npm (?:ci|install)|go mod download|go build|cargo build|mvn|yarn)\b`)
)

// dockerfiles are services whose image a Dockerfile describes. Only Compose files have builds of images, so one is
// written too.
func dockerfiles(f *folder) (found []sketch) {
	for _, name := range f.named("Dockerfile") {
		text := f.read(name)
		if text == "" || len(found) >= maxWorlds {
			continue
		}
		dir := strings.TrimSuffix(strings.TrimSuffix(name, "Dockerfile"), "/")
		title := dir
		if dir == "" {
			dir, title = ".", f.title()
		}
		service := nodeNameOf(filepath.Base(title))
		var s server
		if port, _ := strconv.Atoi(firstGroup(exposed, text)); port > 0 && port < 1<<16 {
			s = server{http: true, port: port, portIn: name, path: "/?key={key}"}
		} else if port, _ := strconv.Atoi(firstGroup(portInFile, text)); port > 0 && port < 1<<16 {
			s = server{http: true, port: port, portIn: name, path: "/?key={key}"}
		}
		source := f.serverBuiltIn(dir)
		if s.http {
			s.takeRoutes(source)
		}
		k := sketch{name: name, what: "the image of " + name, compose: dockerCompose, front: service, server: s,
			files: map[string][]byte{dockerCompose: fmt.Appendf(nil,
				"# The image of %s. docs/reference/dockerfiles.md explains how it is built without Docker.\n"+
					"services:\n  %s:\n    build: %s\n    restart: always\n",
				name, scalar(service), scalar(dir))}}
		if s.http && !source.http {
			k.addCheck("The server on port %d must speak HTTP; for other protocols change `workload`.", s.port)
		}
		if fetches.MatchString(text) {
			k.addCheck("RUN steps have no network here; docs/how-to/build-images-from-dockerfiles.md describes three solutions.")
		}
		found = append(found, k)
	}
	return found
}
