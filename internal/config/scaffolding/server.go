package scaffolding

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// server is what sources say about how a program is reached and what it needs. All of it is a guess.
type server struct {
	http bool
	port int
	// portIn is the file that names the port, empty for the usual port of a library.
	portIn string
	// portVariable is the environment variable from which the program reads its port.
	portVariable string
	// loopback: the program listens on 127.0.0.1 only.
	loopback bool
	// path of an operation, with {key}; puts says that PUT or POST writes there.
	path       string
	puts, post bool
	// address is a flag, and its value, by which the program listens on all addresses instead of its default, localhost.
	address []string
	// data is an absolute folder that the program writes to.
	data string
	// peers is a flag (--peers) or a variable (PEERS) that lists the other nodes, id a flag for the node's number.
	peers, id string
	// arguments: the program reads words of its command line by position. folderArgument: the first one is a folder.
	arguments, folderArgument bool
}

var (
	serves = regexp.MustCompile(`net/http"|http\.createServer|\bexpress\(|\bfastify\(|new Koa\(|http\.server|\bFlask\(|\bFastAPI\(|aiohttp|` +
		`com\.sun\.net\.httpserver|springframework|javalin|\baxum\b|actix_web|\bwarp::|\brocket\b|tiny_http|\bhyper::|HTTP/1\.[01]`)
	listens = regexp.MustCompile(`(?i)listenandserve|net\.listen\(|\.listen\(|\blisten\(|serve_forever|\.serve\(|app\.run\(|uvicorn\.run|run_app\(|` +
		`new serversocket\(|httpserver\.create|springapplication\.run|javalin\.(create|start)|tcplistener|httpserver::new|\.run\(":\d`)

	// The ways to write a port, the surest first.
	ports = []*regexp.Regexp{
		regexp.MustCompile(`(?i)(?:listenandserve(?:tls)?|net\.listen|\.run|tcplistener::bind|\.bind)\([^)\n]{0,60}?:(\d{2,5})["']`),
		regexp.MustCompile(`(?i)(?:\.listen\(|inetsocketaddress\(|serversocket\(|htons\(|httpserver\(\s*\(\s*["'][^"']*["']\s*,|\.bind\(\s*\(\s*["'][^"']*["']\s*,)\s*(\d{2,5})\b`),
		regexp.MustCompile(`["'](?:\[::\]|0\.0\.0\.0|127\.0\.0\.1|localhost)?:(\d{2,5})["']`),
		// A flag with its default: add_argument("--port", type=int, default=8000), IntVar(&a, "p", 8080) and their like.
		regexp.MustCompile(`(?i)["'-](?:(?:http|server|listen)-)?port\b[^)]{0,120}?\bdefault(?:_?value(?:_t)?)?\s*[=:(]\s*["']?(\d{2,5})\b`),
		regexp.MustCompile(`\b(?:Int|Uint|IntVar|UintVar|IntP|IntVarP)\(\s*(?:&[\w.]+,\s*)?"(?:p|port|listen)",\s*(?:"\w?",\s*)?(\d{2,5})\b`),
		regexp.MustCompile(`\bdefault_value(?:_t)?\s*=\s*"?(\d{2,5})"?[^\n]*\]\s*(?:pub\s+)?(?:\w+_)?port\s*:`),
		regexp.MustCompile(`(?i)\bport\s*:\s*\w+\s*=\s*(?:typer\.Option\(\s*)?(\d{2,5})\b`),
		regexp.MustCompile(`env\.\w*PORT\b[^;\n]{0,20}?(?:\|\||\?\?)\s*["']?(\d{2,5})\b`),
		regexp.MustCompile(`(?i)(?:\b|_)port[a-z]*\W{1,12}(?:or\s+|int\s+)?(\d{2,5})\b`),
		regexp.MustCompile(`(?i)server\.port\s*[=:]\s*(\d{2,5})`),
		regexp.MustCompile(`(?i)port[a-z]*\s*=[^;\n]{0,60}?\b(\d{4,5})\b`),
	}
	// A word before a port that is one of another program, as in REDIS_PORT.
	otherService = regexp.MustCompile(`(?i)(?:redis|db|database|postgres|postgresql|pg|mysql|mongo|mongodb|kafka|amqp|rabbitmq|etcd|` +
		`metrics|debug|admin|upstream|backend)[_.-]?$`)
	portVariables = regexp.MustCompile(`(?:env|environ|Getenv|LookupEnv)\b[^A-Za-z\n]{0,6}(?:get|var)?[^A-Za-z\n]{0,4}((?:HTTP_|SERVER_|LISTEN_|APP_)?PORT)\b`)
	onLoopback    = regexp.MustCompile(`["'(](?:127\.0\.0\.1|localhost)(?:["'],|["']\)|:\d+["'])`)

	// A flag for the address whose default is localhost, in Go's flag package and Python's argparse.
	addressFlags = regexp.MustCompile(`["']((?:--)?(?:[a-z]+-)?(?:addr|address|listen|host|bind))["']\s*,\s*(?:default\s*=\s*)?["'](?:127\.0\.0\.1|localhost)(:\d+)?["']`)

	// Routes: the method, if it stands there, and the path.
	routes = []*regexp.Regexp{
		regexp.MustCompile(`["'](GET|PUT|POST) (/[^"'\s]*)["']`),
		regexp.MustCompile(`(?i)\.(get|put|post)\(\s*["'` + "`" + `](/[^"'` + "`" + `]*)["'` + "`" + `]`),
		regexp.MustCompile(`(?i)@(get|put|post)(?:Mapping)?\(\s*(?:value\s*=\s*)?["'](/[^"']*)["']`),
		regexp.MustCompile(`()(?:HandleFunc|Handle|createContext|\.route|RequestMapping|startswith|startsWith|HasPrefix|TrimPrefix)\([^"'\n]{0,40}["'](/[^"']*)["']`),
	}
	// A path in a regular expression, such as /^\/items\/(.+)$/.
	matchedRoute = regexp.MustCompile(`\^\\?/([A-Za-z0-9_-]+)\\?/`)
	parameter    = regexp.MustCompile(`^(?:\{\*?[A-Za-z_]\w*(?:\.\.\.|:path)?\}|[:*][A-Za-z_]\w*|<(?:[a-z]+:)?[A-Za-z_]\w*>)$`)
	plainRoute   = regexp.MustCompile(`^/[A-Za-z0-9_./~-]*$`)
	writesPut    = regexp.MustCompile(`do_PUT|MethodPut|["'{ ]PUT["' ]|\.put\(|\bput\(|PutMapping`)
	writesPost   = regexp.MustCompile(`do_POST|MethodPost|["'{ ]POST["' ]|\.post\(|PostMapping`)

	dataFolders = regexp.MustCompile(`["'](/data|/var/lib/[a-z][a-z0-9-]*)[/"']`)
	peerFlags   = regexp.MustCompile(`(?:flag\.|Flags\(\)\.|add_argument\(|Arg::|arg\()[A-Za-z]*\(?[^"'\n]{0,30}["'](?:--)?((?:initial-)?(?:peers|cluster|members|nodes))["']`)
	peerEnv     = regexp.MustCompile(`(?:env|environ|Getenv|LookupEnv)\b[^A-Za-z\n]{0,6}(?:get|var)?[^A-Za-z\n]{0,4}([A-Z_]{0,20}(?:PEERS|MEMBERS))\b`)
	idFlags     = regexp.MustCompile(`(?:flag\.|Flags\(\)\.|add_argument\()[A-Za-z]*\(?[^"'\n]{0,30}["'](?:--)?((?:node-)?id)["']`)
	folderFirst = regexp.MustCompile(`(?i)(?:dir|folder|path|root)[a-z]*\s*:?=\s*(?:sys\.argv\[1\]|os\.Args\[1\]|process\.argv\[2\]|argv\[1\]|args\[0\])`)
	positional  = regexp.MustCompile(`os\.Args\[|sys\.argv\[|process\.argv\[|\bargv\[1\]|\bargs\[0\]|flag\.Arg\(`)
)

// usualPorts are the ports of servers whose sources name none, by what the sources have.
var usualPorts = []struct {
	sign *regexp.Regexp
	port int
}{
	{regexp.MustCompile(`\bFlask\(`), 5000},
	{regexp.MustCompile(`\bFastAPI\(|uvicorn`), 8000},
	{regexp.MustCompile(`springframework|gin\.Default|\.Run\(\)`), 8080},
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
	s.arguments = positional.MatchString(text)
	if s.folderArgument = folderFirst.MatchString(text); s.folderArgument {
		s.data = cmp.Or(s.data, "/data")
	}
	s.operations(text)
	return s
}

// listening reports whether a file begins to listen for connections.
func (f *folder) listening(name string) bool { return listens.MatchString(f.read(name)) }

func firstGroup(pattern *regexp.Regexp, text string) string {
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

// operations guesses where keys are read and written.
func (s *server) operations(text string) {
	methods := map[string]map[string]bool{} // of a path
	var order []string
	add := func(method, written string) {
		route, ok := keyed(written)
		if method == "" && written == "/" { // all paths
			route, ok = "/{key}", true
		}
		switch {
		case !ok:
			return
		case methods[route] == nil:
			methods[route] = map[string]bool{}
			order = append(order, route)
		}
		methods[route][strings.ToUpper(method)] = true
	}
	for _, pattern := range routes {
		for _, m := range pattern.FindAllStringSubmatch(text, 200) {
			add(m[1], m[2])
		}
	}
	for _, m := range matchedRoute.FindAllStringSubmatch(text, 200) {
		add("", "/"+m[1]+"/")
	}
	put, post := writesPut.MatchString(text), writesPost.MatchString(text)
	// A route without a method serves whatever methods the source mentions.
	has := func(route, method string, mentioned bool) bool {
		return methods[route][method] || methods[route][""] && mentioned
	}
	rank := func(route string) int {
		switch {
		case !strings.HasSuffix(route, "/{key}") && has(route, "GET", true): // an address that has no key
			return 4
		case !strings.HasSuffix(route, "/{key}"):
			return 5
		case has(route, "PUT", put) && has(route, "GET", true):
			return 0
		case has(route, "POST", post) && has(route, "GET", true):
			return 1
		case has(route, "GET", true):
			return 2
		}
		return 5
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	switch {
	case len(order) > 0 && rank(order[0]) <= 4:
		s.path = order[0]
		s.puts = rank(s.path) <= 1
		s.post = rank(s.path) == 1
	case put:
		s.path, s.puts = "/kv/{key}", true // a server that reads methods and paths by itself
	default:
		s.path = "/?key={key}"
	}
}

// keyed makes the path of an operation out of a route: /kv/:id becomes /kv/{key}, and /health becomes
// /health?key={key}.
func keyed(route string) (string, bool) {
	route = strings.TrimSuffix(route, "{$}")
	dir, last := route[:strings.LastIndex(route, "/")+1], route[strings.LastIndex(route, "/")+1:]
	switch {
	case !plainRoute.MatchString(dir):
		return "", false
	case parameter.MatchString(last), last == "" && dir != "/":
		return dir + "{key}", true
	case !plainRoute.MatchString(dir + last):
		return "", false
	}
	return route + "?key={key}", true
}
