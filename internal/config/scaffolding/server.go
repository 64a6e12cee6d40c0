package scaffolding

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// server describes how to reach a program, and its needs, as guessed from its sources.
type server struct {
	http bool
	port int
	// portIn is the file that names the port, empty for the usual port of a library.
	portIn string
	// portVariable is the environment variable from which the program reads its port.
	portVariable string
	// loopback: the program listens on 127.0.0.1 only.
	loopback bool
	// path of an operation, with {key}; puts says that PUT or POST writes there, post that PUT does not.
	path       string
	puts, post bool
	// register: PUT seems to store what GET returns.
	register bool
	// json: the program parses bodies of requests as JSON.
	json bool
	// otherWrites are routes of PUT and POST that GET does not have, such as POST /transfers.
	otherWrites []string
	// amounts is set if the program keeps numbers that requests change.
	amounts amounts
	// address is a flag, and its value, by which the program listens on all addresses instead of its default, localhost.
	address []string
	// data is an absolute folder that the program writes to.
	data string
	// keeps is where the program keeps its data by default, if a flag or a variable changes that. leftOvers: the project
	// has files there.
	keeps     dataPlace
	leftOvers bool
	// peers is a flag (--peers) or a variable (PEERS) that lists the other nodes, id a flag for the node's number.
	peers, id string
	// arguments: the program reads words of its command line by position. folderArgument: the first one is a folder.
	arguments, folderArgument bool
	// usage is the line that the program prints about its arguments, such as "kvd PORT DATAFILE".
	usage string
}

var (
	serves = lazyregexp.New(`net/http"|http\.createServer|(?:from\s+|require\()["'](?:node:)?https?["']|\bexpress\(|require\(["']express["']\)\(|\bfastify\(|new Koa\(|http\.server|\bFlask\(|\bFastAPI\(|aiohttp|` +
		`com\.sun\.net\.httpserver|springframework|javalin|\baxum\b|actix_web|\bwarp::|\brocket\b|tiny_http|\bhyper::|HTTP/1\.[01]`)
	listens = lazyregexp.New(`(?i)listenandserve|net\.listen\(|\.listen\(|\blisten\(|serve_forever|\.serve\(|app\.run\(|uvicorn\.run|run_app\(|` +
		`new serversocket\(|httpserver\.create|springapplication\.run|javalin\.(create|start)|tcplistener|httpserver::new|\.run\(":\d`)

	// The ways to write a port, the surest first.
	ports = []*lazyregexp.Regexp{
		lazyregexp.New(`(?i)(?:listenandserve(?:tls)?|net\.listen|\.run|tcplistener::bind|\.bind)\([^)\n]{0,60}?:(\d{2,5})["']`),
		lazyregexp.New(`(?i)(?:\.listen\(|inetsocketaddress\(|serversocket\(|htons\(|httpserver\(\s*\(\s*["'][^"']*["']\s*,|\.bind\(\s*\(\s*["'][^"']*["']\s*,)\s*(\d{2,5})\b`),
		lazyregexp.New(`["'](?:\[::\]|0\.0\.0\.0|127\.0\.0\.1|localhost)?:(\d{2,5})["']`),
		// A flag with its default: add_argument("--port", type=int, default=8000), IntVar(&a, "p", 8080) and their like.
		lazyregexp.New(`(?i)["'-](?:(?:http|server|listen)-)?port\b[^)]{0,120}?\bdefault(?:_?value(?:_t)?)?\s*[=:(]\s*["']?(\d{2,5})\b`),
		lazyregexp.New(`\b(?:Int|Uint|IntVar|UintVar|IntP|IntVarP)\(\s*(?:&[\w.]+,\s*)?"(?:p|port|listen)",\s*(?:"\w?",\s*)?(\d{2,5})\b`),
		lazyregexp.New(`\bdefault_value(?:_t)?\s*=\s*"?(\d{2,5})"?[^\n]*\]\s*(?:pub\s+)?(?:\w+_)?port\s*:`),
		lazyregexp.New(`(?i)\bport\s*:\s*\w+\s*=\s*(?:typer\.Option\(\s*)?(\d{2,5})\b`),
		lazyregexp.New(`env\.\w*PORT\b[^;\n]{0,20}?(?:\|\||\?\?)\s*["']?(\d{2,5})\b`),
		lazyregexp.New(`(?i)(?:\b|_)port[a-z]*\W{1,12}(?:or\s+|int\s+)?(\d{2,5})\b`),
		lazyregexp.New(`(?i)server\.port\s*[=:]\s*(\d{2,5})`),
		lazyregexp.New(`(?i)port[a-z]*\s*=[^;\n]{0,60}?\b(\d{4,5})\b`),
	}
	// A word before a port that is one of another program, as in REDIS_PORT.
	otherService = lazyregexp.New(`(?i)(?:redis|db|database|postgres|postgresql|pg|mysql|mongo|mongodb|kafka|amqp|rabbitmq|etcd|` +
		`metrics|debug|admin|upstream|backend)[_.-]?$`)
	portVariables = lazyregexp.New(`(?:env|environ|Getenv|LookupEnv)\b[^A-Za-z\n]{0,6}(?:get|var)?[^A-Za-z\n]{0,4}((?:HTTP_|SERVER_|LISTEN_|APP_)?PORT)\b`)
	onLoopback    = lazyregexp.New(`["'(](?:127\.0\.0\.1|localhost)(?:["'],|["']\)|:\d+["'])`)

	// A flag for the address whose default is localhost, in Go's flag package and Python's argparse.
	addressFlags = lazyregexp.New(`["']((?:--)?(?:[a-z]+-)?(?:addr|address|listen|host|bind))["']\s*,\s*(?:default\s*=\s*)?["'](?:127\.0\.0\.1|localhost)(:\d+)?["']`)

	dataFolders = lazyregexp.New(`["'](/data|/var/lib/[a-z][a-z0-9-]*)[/"']`)
	peerFlags   = lazyregexp.New(`(?:flag\.|Flags\(\)\.|add_argument\(|Arg::|arg\()[A-Za-z]*\(?[^"'\n]{0,30}["'](?:--)?((?:initial-)?(?:peers|cluster|members|nodes))["']`)
	peerEnv     = lazyregexp.New(`(?:env|environ|Getenv|LookupEnv)\b[^A-Za-z\n]{0,6}(?:get|var)?[^A-Za-z\n]{0,4}([A-Z_]{0,20}(?:PEERS|MEMBERS))\b`)
	idFlags     = lazyregexp.New(`(?:flag\.|Flags\(\)\.|add_argument\()[A-Za-z]*\(?[^"'\n]{0,30}["'](?:--)?((?:node-)?id)["']`)
	folderFirst = lazyregexp.New(`(?i)(?:dir|folder|path|root)[a-z]*\s*:?=\s*(?:sys\.argv\[1\]|os\.Args\[1\]|process\.argv\[2\]|argv\[1\]|args\[0\])`)
	positional  = lazyregexp.New(`os\.Args\[|sys\.argv\[|process\.argv\[|\bargv\[1\]|\bargs\[0\]|flag\.Arg\(`)
)

// usualPorts are the ports of servers whose sources name none, by what the sources have.
var usualPorts = []struct {
	sign *lazyregexp.Regexp
	port int
}{
	{lazyregexp.New(`\bFlask\(`), 5000},
	{lazyregexp.New(`\bFastAPI\(|uvicorn`), 8000},
	{lazyregexp.New(`springframework|gin\.Default|\.Run\(\)`), 8080},
}

// serverOf reads sources. Those of the program itself come first, and a later file only adds what earlier ones do not
// say.
func (f *folder) serverOf(files []string) server {
	var s server
	var all strings.Builder
	rank := len(ports)
	for _, name := range files {
		text := f.read(name)
		all.WriteString(text + "\n")
		if p, r := portOf(text); p > 0 && r < rank {
			s.port, s.portIn, rank = p, name, r
		}
	}
	text := all.String()
	s.http = serves.MatchString(text) && listens.MatchString(text)
	for _, usual := range usualPorts {
		if s.port == 0 && usual.sign.MatchString(text) {
			s.port = usual.port
		}
	}
	s.portVariable, s.data = firstGroup(portVariables, text), firstGroup(dataFolders, text)
	if s.port == 0 && (s.portVariable != "" || s.http) {
		s.port = 8080
	}
	s.loopback = onLoopback.MatchString(text) && !strings.Contains(text, "0.0.0.0") ||
		strings.Contains(text, "app.run(") && !strings.Contains(text, "host")
	if m := addressFlags.FindStringSubmatch(text); m != nil {
		s.loopback, s.address = false, []string{"--" + strings.TrimPrefix(m[1], "--"), "0.0.0.0" + m[2]}
	}
	s.peers = firstGroup(peerEnv, text)
	if flag := firstGroup(peerFlags, text); flag != "" {
		s.peers = "--" + flag
	}
	if flag := firstGroup(idFlags, text); flag != "" {
		s.id = "--" + flag
	}
	s.arguments, s.usage = positional.MatchString(text), usageOf(text)
	if s.folderArgument = folderFirst.MatchString(text); s.folderArgument {
		s.data = cmp.Or(s.data, "/data")
	}
	if place, ok := dataPlaceOf(text); ok && s.data == "" {
		s.keeps, s.leftOvers = place, f.filled(place.standard)
	}
	s.operations(text)
	return s
}

// listening reports whether a file begins to listen for connections.
func (f *folder) listening(name string) bool { return listens.MatchString(f.read(name)) }

func firstGroup(pattern *lazyregexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// maxServiceName is how far before a port the name of its program is looked for.
const maxServiceName = 16

// portOf finds a port, and how sure the place is: less is surer.
func portOf(text string) (port, rank int) {
	for rank, pattern := range ports {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, 20) {
			if otherService.MatchString(text[max(0, m[0]-maxServiceName):m[0]]) {
				continue
			}
			if n, _ := strconv.Atoi(text[m[2]:m[3]]); n == 80 || n == 443 || n >= 1024 && n < 1<<16 {
				return n, rank
			}
		}
	}
	return 0, len(ports)
}
