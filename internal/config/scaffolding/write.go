package scaffolding

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// sketch is a world before it is written.
type sketch struct {
	name, what string
	checks     []string
	compose    string // the Compose file that has the nodes
	nodes      []node
	// front is the node that answers requests; server says how.
	front  string
	server server
	files  map[string][]byte // further files
	// complete: the configuration uses the driver, whose requests are guesses.
	complete bool
}

// node is a node before it is written.
type node struct {
	name       string
	count      int // 0 writes no count
	image      string
	build      []string
	buildEnv   []variable
	entrypoint []string
	command    []string
	env        []variable
	volumes    []string
	aliases    []string
	// ready is a port at which the node is healthy, 0 for none.
	ready int
	// templates: values have templates of `count` on purpose, so braces stay as they are.
	templates bool
}

type variable struct{ name, value string }

// addCheck adds a sentence that a person should read.
func (s *sketch) addCheck(format string, args ...any) {
	s.checks = append(s.checks, strings.Map(printable, fmt.Sprintf(format, args...)))
}

// program makes a sketch of one program of the host with its server.
func program(name, what, nodeName string, s server, build []string, command ...string) sketch {
	arguments, used := []string(nil), false
	if s.arguments && !s.folderArgument {
		arguments, used = s.fillUsage(nodeNameOf(nodeName))
	}
	n := node{name: nodeNameOf(nodeName), build: build, command: append(command, arguments...), ready: s.port}
	if s.portVariable != "" {
		n.env = append(n.env, variable{s.portVariable, strconv.Itoa(s.port)})
	}
	if s.data != "" {
		n.volumes = []string{"data:" + s.data}
	}
	n.command = append(n.command, s.address...)
	k := sketch{name: name, what: what, front: n.name, server: s}
	if s.keeps.standard != "" {
		k.keepInVolume(&n)
	}
	if s.peers != "" {
		n.count, n.templates = 3, true
		k.front = n.name + "1"
		list := `{{.Peers.Each "{}:` + strconv.Itoa(max(s.port, 1)) + `"}}`
		if strings.HasPrefix(s.peers, "--") {
			n.command = append(n.command, s.peers, list)
		} else {
			n.env = append(n.env, variable{s.peers, list})
		}
		if s.id != "" {
			n.command = append(n.command, s.id, "{{.Index}}")
		}
		if len(n.volumes) > 0 {
			n.volumes = []string{"{{.Name}}-" + n.volumes[0]}
		}
		k.addCheck("The program takes %s, so there are three nodes. Check that its value has the form the program expects.", s.peers)
	}
	k.nodes = []node{n}
	if s.http {
		k.what += fmt.Sprintf(", HTTP on port %d", s.port)
	}
	if s.folderArgument {
		k.nodes[0].command = append(k.nodes[0].command, s.data)
		k.addCheck("The program gets the folder %s as its argument.", s.data)
	} else if used {
		k.addCheck("The arguments in `command` follow the program's usage line: %s.", s.usage)
	} else if s.arguments && s.usage != "" {
		k.addCheck("The program reads command-line arguments: add the ones it needs to `command`. Its usage line is: %s.", s.usage)
	} else if s.arguments {
		k.addCheck("The program reads command-line arguments: add the ones it needs to `command`.")
	}
	return k
}

// keepInVolume moves a program's data to a volume. A folder of the project would have what this machine has there, and
// one in memory, such as /tmp, would lose all at a power loss.
func (s *sketch) keepInVolume(n *node) {
	place := s.server.keeps
	where := map[bool]string{true: "command", false: "environment"}[place.variable == ""]
	if s.server.leftOvers {
		s.addCheck("Each run starts with a copy of %s as it is now. To start without data, set `%s` in `%s`, and `volumes: [\"data:%s\"]`.",
			place.standard, place.setting(), where, dataMount)
		return
	}
	n.volumes = []string{"data:" + dataMount}
	if place.variable != "" {
		n.env = append(n.env, variable{place.variable, place.inVolume()})
	} else {
		n.command = append(n.command, place.flag, place.inVolume())
	}
	reason := "It starts empty in each run"
	if inMemory.MatchString(place.standard) {
		reason = "A power loss would empty " + place.standard
	}
	s.addCheck("`%s` in `%s` moves the data to a volume. %s.", place.setting(), where, reason)
}

var notInNames = lazyregexp.New(`[^a-z0-9]+`)

// maxNodeName bounds names of nodes, which are host names.
const maxNodeName = 40

// nodeNameOf makes a name of a node out of any text. It begins with a letter, and is none that Bloodhound gives its own
// nodes.
func nodeNameOf(text string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	name = strings.TrimRight(name[:min(len(name), maxNodeName)], "-")
	switch {
	case name == "", name == "load", name == "checker", name[0] >= '0' && name[0] <= '9':
		return strings.TrimSuffix("app-"+name, "-")
	}
	return name
}

// The first line of a configuration leads editors to the schema.
const schemaLine = "# yaml-language-server: $schema=https://raw.githubusercontent.com/bloodhound-dst/bloodhound/main/docs/schema/config-v1.json\n"

// usage is the part of the comment that all configurations have.
const usage = `# docs/reference/config.md lists every key.
#
#   bloodhound run            one run, which the same seed repeats byte for byte
#   bloodhound explore        many runs, until one breaks a property

`

// header is the comment that says what was found and what to check.
func header(what string, checks []string) string {
	var b strings.Builder
	b.WriteString(schemaLine)
	fmt.Fprintf(&b, "# Found: %s.\n", what)
	if len(checks) > 0 {
		b.WriteString("# Check these guesses:\n")
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "# - %s\n", c)
	}
	return b.String() + usage
}

// world writes the sketch. f is the folder of the project.
func (s *sketch) world(f *folder) World {
	w := World{Name: s.name, What: s.what, Files: map[string][]byte{}}
	var body strings.Builder
	s.writeNodes(&body)
	s.writeWorkload(&body, f)
	for name, content := range s.files {
		w.Files[name] = content
	}
	w.Checks, w.Complete = s.checks, s.complete
	w.Files[ConfigName] = []byte(header(s.what, s.checks) + body.String())
	return w
}

func (s *sketch) writeNodes(b *strings.Builder) {
	if s.compose != "" {
		b.WriteString("# Each service of this file is a node. docs/reference/compose.md lists the differences from Docker.\n")
		fmt.Fprintf(b, "compose: %s\n\n", scalar(s.compose))
	}
	if len(s.nodes) == 0 {
		return
	}
	b.WriteString("# The programs, in Compose's own keys. Each node is a machine of its own; nodes reach each other by name.\n" +
		"# A run starts with a copy of this folder. Files that a program writes there survive its crashes and restarts.\nnodes:\n")
	for _, n := range s.nodes {
		n.write(b)
	}
	b.WriteString("\n")
}

func (n *node) write(b *strings.Builder) {
	escape := func(text string) string {
		text = strings.ReplaceAll(text, "$", "$$")
		if n.count > 0 && !n.templates {
			text = strings.ReplaceAll(text, "{{", `{{"{{"}}`)
		}
		return text
	}
	escaped := func(words []string) (all []string) {
		for _, w := range words {
			all = append(all, escape(w))
		}
		return all
	}
	mapping := func(vars []variable) string {
		var parts []string
		for _, v := range vars {
			parts = append(parts, scalar(v.name)+": "+quoted(escape(v.value)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	fmt.Fprintf(b, "  %s:\n", scalar(n.name))
	if n.count > 0 {
		fmt.Fprintf(b, "    count: %d\n", n.count)
	}
	if n.image != "" {
		fmt.Fprintf(b, "    image: %s\n", scalar(escape(n.image)))
	}
	if len(n.build) > 0 && len(n.buildEnv) > 0 {
		fmt.Fprintf(b, "    build: {command: %s, environment: %s}   # on this machine, before the first run\n",
			commandLine(escaped(n.build), true), mapping(n.buildEnv))
	} else if len(n.build) > 0 {
		fmt.Fprintf(b, "    build: %s   # on this machine, before the first run\n", commandLine(escaped(n.build), false))
	}
	if len(n.entrypoint) > 0 {
		fmt.Fprintf(b, "    entrypoint: %s\n", list(escaped(n.entrypoint)))
	}
	if len(n.command) > 0 {
		fmt.Fprintf(b, "    command: %s\n", commandLine(escaped(n.command), false))
	}
	b.WriteString("    restart: always\n")
	if n.ready > 0 {
		// By its name, as other nodes do: a program that listens on localhost only is never ready.
		host := n.name
		if n.count > 0 {
			host = "{{.Name}}"
		}
		fmt.Fprintf(b, "    healthcheck: {test: [CMD, bash, -c, \"exec 3<>/dev/tcp/%s/%d\"], "+
			"interval: 10s, start_period: 10s, start_interval: 200ms}\n", host, n.ready)
	}
	if len(n.env) > 0 {
		fmt.Fprintf(b, "    environment: %s\n", mapping(n.env))
	}
	if len(n.volumes) > 0 {
		fmt.Fprintf(b, "    volumes: %s\n", list(n.volumes))
	}
	if len(n.aliases) > 0 {
		fmt.Fprintf(b, "    networks: {default: {aliases: %s}}\n", list(n.aliases))
	}
}

func (s *sketch) writeWorkload(b *strings.Builder, f *folder) {
	var target string
	if s.front != "" && s.server.port > 0 {
		target = fmt.Sprintf("http://%s:%d", s.front, s.server.port)
	}
	switch {
	case s.server.http:
		s.writeHTTP(b, target, f)
	case s.server.port == redisPort && s.front != "":
		s.writeRedis(b)
	case target != "":
		name := s.addStarter(f)
		fmt.Fprintf(b, placeholder, name)
		fmt.Fprintf(b, `# What must hold. Bloodhound always checks for crashes, panics and unexpected exits.
properties:
  # Once the driver is complete:
  # - name: linearizable
  #   kind: safety
  #   description: A read returns the value of the last acknowledged write.
  #   check: {type: linearizability}
  - name: accepts connections again
    kind: liveness            # within this time after each heal
    timeout: 10s
    check: {type: custom, script: [bash, -c, "exec 3<>/dev/tcp/%s/%d"]}

`, s.front, s.server.port)
		s.addCheck("%s sends `SET key value` and `GET key` to port %d. If the server's protocol differs, edit `perform` in it. Then uncomment "+
			"`workload` and the property `linearizable`.", name, s.server.port)
	default:
		name := s.addStarter(f)
		fmt.Fprintf(b, placeholder, name)
		b.WriteString("# What must hold. Nothing is listed yet, but Bloodhound always checks for crashes, panics\n" +
			"# and unexpected exits.\n# properties: []\n\n")
		s.addCheck("No port was found: set it in %s, edit `perform` there, uncomment `workload`, and list in `properties` what must hold.", name)
	}
	if s.server.loopback {
		s.addCheck("The program seems to listen on localhost, where other nodes cannot reach it: make it listen on 0.0.0.0.")
	}
	b.WriteString(faultSection)
	switch {
	case s.complete:
		b.WriteString("  stop: 8s                  # the driver works for 20 s; the rest shows whether the system works again\n")
	case !s.server.http || s.server.json || !s.server.register:
		b.WriteString(stopHint)
	}
}

// placeholder stands for a client of a protocol that is not known.
const placeholder = `# The client. http, redis, sql and etcd are built in; command runs your own program (bloodhound docs write-a-driver).
# workload:
#   driver: command
#   config: {command: python3 %s, announces: true}

`

const faultSection = `# What may go wrong. harsh injects partitions, crashes, power losses, full disks and wrong clocks; calm, moderate and chaos
# inject fewer kinds. Rules and rates written below the mode replace its own.
faults:
  mode: harsh
  # disk: {profile: posix-minimal}   # also loses names whose folder was not synced, as file systems other than ext4 may
`

// stopHint is for drivers of a person's own, which do not go on after the faults by themselves.
const stopHint = `  # stop: 8s   # with driver.py, which works for 20 s: faults end early, so that it shows whether the system works again
`

func (s *sketch) writeHTTP(b *strings.Builder, target string, f *folder) {
	if s.server.portIn != "" {
		s.addCheck("Port %d comes from %s.", s.server.port, s.server.portIn)
	} else {
		s.addCheck("No port was found; %d is the usual one.", s.server.port)
	}
	if a := &s.server.amounts; len(a.changes) > 0 {
		s.writeAmounts(b, f)
		return
	}
	path, puts := s.server.path, s.server.puts && !s.server.json
	b.WriteString("# The client. Its operations are HTTP requests to this path. docs/reference/workloads.md lists other drivers.\n")
	starter := ""
	if s.server.json || !puts && len(s.server.otherWrites) > 0 {
		starter = s.addStarter(f)
	}
	if s.server.json {
		fmt.Fprintf(b, jsonHint, starter)
	}
	fmt.Fprintf(b, `workload:
  driver: http
  config:
    target: %s
    clients: 5
    qps: 50                   # operations a second of virtual time
    duration: 10s
`, target)
	method := map[bool]string{false: "PUT", true: "POST"}[s.server.post]
	if puts && s.server.post {
		b.WriteString("    options: {put_method: POST}\n")
	}
	b.WriteString("    operations:\n")
	const operation = "      - {type: %s, weight: 1, path: %s, key_pattern: \"key-{random:0-4}\"}\n"
	if puts {
		fmt.Fprintf(b, operation, "put", quoted(path))
	}
	fmt.Fprintf(b, operation, "get", quoted(path))
	if !s.server.puts && !s.server.json && len(s.server.otherWrites) == 0 {
		b.WriteString(writesHint)
	}
	b.WriteString("\n# What must hold. Bloodhound always checks for crashes, panics and unexpected exits.\nproperties:\n")
	switch {
	case s.server.json:
		writes := s.server.otherWrites
		if s.server.puts {
			writes = append([]string{method + " " + path}, writes...)
		}
		ways := "edit " + starter + " and use it as the driver"
		if s.server.puts || len(writes) == 0 {
			ways = "set the field of the value in `options: {json_field: NAME}`, or " + ways
		}
		s.addCheck("The source parses bodies as JSON, so only GET %s is tried. To also try %s, %s.", path, wordsOf(writes, "writes"), ways)
		if s.server.puts {
			b.WriteString("  # Once `put` is among the operations, or for a driver of your own that records `put` and `get`:\n" + asComment(linearizable))
		}
	case puts && s.server.register:
		s.addCheck("%s %s must store the body, and GET return the same bytes or 404. "+
			"If not, remove the property `linearizable`.", method, path)
		b.WriteString(linearizable)
	case puts:
		s.addCheck("It is not clear that GET %s returns what %s stores, so the property `linearizable` is commented out.", path, method)
		fmt.Fprintf(b, `  # Only where %s stores the body, and GET returns the same bytes or 404. A counter, a queue or a transfer needs a
  # driver of your own (bloodhound docs write-a-driver), and a counter or a queue also a key model of the check.
`, method)
		b.WriteString(asComment(linearizable))
	case len(s.server.otherWrites) > 0:
		s.addCheck("Only GET %s is tried. To also try %s, edit %s and use it as the driver, "+
			"and list in `properties` what must hold.", path, wordsOf(s.server.otherWrites, "writes"), starter)
	default:
		s.addCheck("Only GET %s is tried: add writes to `workload`, and list in `properties` what must hold.", path)
	}
	b.WriteString(worksAgain)
}

// worksAgain is the property of any server of requests.
const worksAgain = `  - name: works again
    kind: recovery            # requests succeed within this time after each heal
    timeout: 10s
    check: {type: recovery}

`

// writeAmounts writes a driver for a server that keeps numbers, and uses it.
func (s *sketch) writeAmounts(b *strings.Builder, f *folder) {
	a := &s.server.amounts
	name := s.addStarter(f)
	s.complete = true
	s.addCheck("%s sends %s, and reads GET %s. Compare its functions `send` and `perform` with the server.", name, a.inWords(), a.read)
	switch {
	case len(a.keys) > 0:
		s.addCheck("It uses the keys %s, which the program seems to create.", strings.Join(a.keys, ", "))
	case a.creates.path != "":
		s.addCheck("It creates its keys with %s %s.", a.creates.method, a.creates.path)
	default:
		s.addCheck("It uses the keys k0 to k4. If keys must exist beforehand, list the server's own in KEYS.")
	}
	fmt.Fprintf(b, `simulation: {max_time: 150s}   # virtual time: 100 requests of a client take 100 s if each one times out

# The client. %[1]s sends the requests and records them (bloodhound docs write-a-driver).
workload:
  driver: command
  config: {command: python3 %[1]s, announces: true}

# What must hold. Bloodhound always checks for crashes, panics and unexpected exits.
properties:
`, name)
	b.WriteString(a.properties())
	b.WriteString(strings.Replace(worksAgain, "{type: recovery}", "{type: recovery, operations: ["+a.operations()+"]}", 1))
}

// linearizable is the property of a server that keeps values.
const linearizable = `  - name: linearizable
    kind: safety
    description: A read returns the value of the last acknowledged write.
    check: {type: linearizability, operations: [put, get]}
`

// jsonHint shows how to write to a server of documents: with one field, or by a driver.
const jsonHint = `# The source parses bodies as JSON. If a document has one field that GET returns, set options: {json_field: NAME} and
# add operations of the type put. Otherwise edit %[1]s (bloodhound docs write-a-driver) and use it instead:
#   driver: command
#   config: {command: python3 %[1]s, announces: true}
`

// writesHint shows how to write and read the values of a server whose routes were not recognised.
const writesHint = `      # Values that clients write and read:
      # - {type: put, weight: 1, path: "/items/{key}", key_pattern: "key-{random:0-4}"}
      # - {type: get, weight: 1, path: "/items/{key}", key_pattern: "key-{random:0-4}"}
`

// asComment comments out the lines of a list.
func asComment(lines string) string {
	return "  # " + strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(lines, "\n  ", "\n"), "\n")[2:], "\n", "\n  # ") + "\n"
}

// maxNamedWrites bounds the routes that a sentence names.
const maxNamedWrites = 3

// wordsOf lists routes in a sentence, and says another word where there are none.
func wordsOf(routes []string, none string) string {
	if len(routes) == 0 {
		return none
	}
	return strings.Join(routes[:min(len(routes), maxNamedWrites)], ", ")
}

// redisPort is where Redis and its like listen.
const redisPort = 6379

func (s *sketch) writeRedis(b *strings.Builder) {
	s.addCheck("Port %d is assumed to be Redis, whose driver sends SET and GET.", redisPort)
	fmt.Fprintf(b, `# The client. docs/reference/workloads.md lists other drivers.
workload:
  driver: redis
  config:
    master: redis://%s:%d
    clients: 5
    qps: 50                   # operations a second of virtual time
    duration: 10s
    operations:
      - {type: SET, weight: 1, key_pattern: "key-{random:0-4}"}
      - {type: GET, weight: 1, key_pattern: "key-{random:0-4}"}

# What must hold. Bloodhound always checks for crashes, panics and unexpected exits.
properties:
  - name: linearizable
    kind: safety
    description: A read returns the value of the last acknowledged write.
    check: {type: linearizability}
  - name: works again
    kind: recovery            # requests succeed within this time after each heal
    timeout: 10s
    check: {type: recovery}

`, s.front, redisPort)
}

// simpleWord is a word of a command that neither YAML nor a shell changes.
var simpleWord = lazyregexp.New(`^[A-Za-z0-9_./:=@,+-]+$`)

// commandLine writes words as one text where that is plain, else as a list. inFlow is within braces, where a comma ends
// a value.
func commandLine(words []string, inFlow bool) string {
	for _, w := range words {
		if !simpleWord.MatchString(w) || inFlow && strings.Contains(w, ",") {
			return list(words)
		}
	}
	return scalar(strings.Join(words, " "))
}

func list(words []string) string {
	var parts []string
	for _, w := range words {
		parts = append(parts, quoted(w))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// plainScalar is text that may stand without quotes, if YAML also takes it for a text.
var plainScalar = lazyregexp.New(`^[A-Za-z0-9_./][A-Za-z0-9_./=@+ :-]*$`)

// scalar writes a text as YAML, in quotes where it needs them.
func scalar(text string) string {
	var v any
	if plainScalar.MatchString(text) && yaml.Unmarshal([]byte(text), &v) == nil && v == any(text) {
		return text
	}
	return quoted(text)
}

// quoted writes a text in double quotes, on one line.
func quoted(text string) string {
	out, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text})
	if err != nil {
		panic("a text that cannot be written as YAML: " + err.Error())
	}
	return strings.TrimSuffix(string(out), "\n")
}
