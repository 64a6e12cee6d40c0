package scaffolding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	// Routes: the method, if it stands there, and the path.
	routes = []*lazyregexp.Regexp{
		lazyregexp.New(`["'](GET|PUT|POST) (/[^"'\s]*)["']`),
		lazyregexp.New(`(?im)(?:\.|^\s*)(?:add_)?(get|put|post)\(\s*["'` + "`" + `](/[^"'` + "`" + `]*)["'` + "`" + `]`),
		lazyregexp.New(`(?i)(?:@|#\[)(get|put|post)(?:Mapping)?\(\s*(?:value\s*=\s*)?["'](/[^"']*)["']`),
		lazyregexp.New(`()(?:HandleFunc|Handle|createContext|\.route|RequestMapping|startswith|startsWith|starts_with|` +
			`strip_prefix|removeprefix|HasPrefix|TrimPrefix|CutPrefix|strncmp)\([^"'\n]{0,40}["'](/[^"']*)["']`),
	}
	// A path in a regular expression, such as /^\/items\/(.+)$/ or r"/items/([a-z]+)".
	matchedRoutes = []*lazyregexp.Regexp{
		lazyregexp.New(`\^((?:\\?/[A-Za-z0-9_-]+)+)\\?/`),
		lazyregexp.New(`["'` + "`" + `]((?:/[A-Za-z0-9_-]+)+)/[(\[]`),
	}
	// One path that a program compares with that of the request.
	comparedRoute = lazyregexp.New(`(?i)(?:path(?:name)?|ur[il])(?:\(\))?(?:\s*[!=]==?\s*|\.equals\()["'](/[^"'\s]+)["']`)
	// A part of a path that was split, such as parts[0] == "items".
	comparedPart = lazyregexp.New(`(?:parts?|segments?|pieces)\[[01]\]\s*[!=]==?\s*["']([A-Za-z][A-Za-z0-9_-]*)["']`)

	// A route that a comment describes, such as "PUT /jobs/ID stores a job".
	commentLine     = lazyregexp.New(`(?m)^.{0,200}?(?://|#|--|^\s*\*|"""|''')\s?(.*)$|^([A-Z]+ /.*)$`)
	documentedRoute = lazyregexp.New(`\b(GET|PUT|POST) {1,4}(/[A-Za-z0-9_./{}:<>~-]*)`)
	// A word in capitals stands for a key there.
	capitals = lazyregexp.New(`^[A-Z][A-Z0-9_]*$`)

	parameter  = lazyregexp.New(`^(?:\{\*?[A-Za-z_]\w*(?:\.\.\.|:path)?\}|[:*][A-Za-z_]\w*|<(?:[a-z]+:)?[A-Za-z_]\w*>)$`)
	plainRoute = lazyregexp.New(`^/[A-Za-z0-9_./~-]*$`)
	// Routes that have no data.
	aboutHealth = lazyregexp.New(`(?i)^/(?:.*/)?(?:-/)?(?:health|healthz|healthcheck|livez?|ready|readyz|ping|status|metrics|version)\b`)

	// The ways to name a method where a request is told from others. Calls such as values.put(k, v) name none.
	namedMethod = lazyregexp.New(`["'](GET|PUT|POST)["' ]|\bMethod(?:\.|::)?_?(Get|GET|Put|PUT|Post|POST)\b|` +
		`\bdo_?(GET|Get|PUT|Put|POST|Post)\b|@(Get|Put|Post)Mapping\b|` +
		`\b(?:handle|serve|on)_?([Gg]et|[Pp]ut|[Pp]ost)(?:\b|[A-Z_])`)
	// A test that a request has another method, after which the rest of the function is about the method.
	otherMethod = lazyregexp.New(`(?i)method\S*\s*!=|not\s+in\b|!\S*equals`)
	// The methods of a route of axum or Express, as in get(read).put(write), and of Flask.
	chainedMethod  = lazyregexp.New(`\b(get|put|post)\(`)
	flaskRoute     = lazyregexp.New(`^\s*@\w+\.route\(`)
	anyIdentifier  = lazyregexp.New(`[A-Za-z_]\w*`)
	functionBegins = lazyregexp.New(`\b(?:func|def|fn|function|void|int|class)\b[^(\n]{0,60}?(?:\([^)\n]*\)\s*)?\b([A-Za-z_]\w*)\s*\(|` +
		`\b(?:const|let|var)\s+([A-Za-z_]\w*)\s*=\s*(?:async\b|function\b|\()`)

	// The ways to read the body of a request as JSON, which plain text is not.
	jsonBody = lazyregexp.New(`(?i)JSON\.parse\([^;\n]{0,40}?\b\w*(?:body|req|request|payload)\b|` +
		`\bjson\.loads?\(\s*[^\n]{0,40}?\b\w*(?:rfile|body|request|payload)\b|` +
		`\brequest\.(?:get_json\(|json\b)|\bexpress\.json\(|\bbodyParser\.json\(|\(BaseModel\)|` +
		`\bjson\.(?:NewDecoder|Unmarshal)\([^\n]{0,40}?\b(?:r|req|request)\.Body\b|\bjson\.Unmarshal\(\w*body\b|` +
		`\b(?:Should)?BindJSON\(|\.BodyParser\(|\b(?:read|parse|decode)_?json(?:body)?\(|` +
		`\breadValue\([^\n]{0,40}?(?:body|request|exchange|inputstream)|\bnew JSONObject\(\w*body|` +
		`\bfromJson\([^\n]{0,30}?(?:body|request|exchange)|\bbodyAsClass\(|` +
		`\bJson\(\w+\)\s*:|:\s*(?:web::)?Json<|\bserde_json::from_\w+(?:::<[^>]*>)?\([^\n]{0,30}?body|` +
		`\b(?:cJSON_Parse|json_loads|json_tokener_parse)\(\w*body`)
	springBody = lazyregexp.New(`@RequestBody\s+(?:final\s+)?([A-Za-z]+)`)
	anyJSON    = lazyregexp.New(`JSON\.parse\(|\bjson\.loads?\(|\bjson\.(?:NewDecoder|Unmarshal)\(`)
	readsFile  = lazyregexp.New(`(?i)readfile|open\(|read_text|\bfile\b`)

	// Names of changes that do not store what the body says.
	noRegister = lazyregexp.New(`(?i)(?:\b|_)(?:increment|incr|decrement|decr|transfer|enqueue|dequeue|push|append|` +
		`deposit|withdraw|addAndGet|incrementAndGet|reserve|acquire|publish|vote)\w*\(`)
	// Calls that only collect the parts of a body, which noRegister matches too.
	bodyParts       = lazyregexp.New(`(?i)\b(?:chunks?|parts?|buf\w*|body|data)\.(?:push|append)\(`)
	noRegisterRoute = lazyregexp.New(`(?i)/(?:counters?|queues?|transfers?|locks?|events?|messages?|votes?|increment|enqueue)\b`)
)

// Bounds of a look at sources, so that none takes long, whatever it has.
const (
	maxSourceBytes = 2 << 20 // of the sources of a program, the first ones
	maxBlockLines  = 500     // of what stands within a line
	maxAroundLines = 2000    // above a route
	maxBlocks      = 100     // about PUT and POST
	maxNames       = 500     // that are looked up as functions
	maxHandlers    = 20      // that a text names
)

// route is a path of the server.
type route struct {
	path    string
	methods map[string]bool
	// writes are the texts of the handlers of PUT and POST, as far as they were found.
	writes []string
	// own are the texts right at the route, and those of the functions that they name.
	own []string
}

// sourceLines are lines of a program with their indentation, which tells what stands within what in any language.
type sourceLines struct {
	text   string
	lines  []string
	indent []int // -1 for an empty line
	starts []int // offsets in text
	bodies map[string][]int
}

func newSourceLines(text string) *sourceLines {
	s := &sourceLines{text: text, lines: strings.Split(text, "\n"), bodies: map[string][]int{}}
	at := 0
	for i, line := range s.lines {
		s.starts = append(s.starts, at)
		at += len(line) + 1
		rest := strings.TrimLeft(line, " \t")
		if rest == "" {
			s.indent = append(s.indent, -1)
			continue
		}
		s.indent = append(s.indent, len(strings.ReplaceAll(line[:len(line)-len(rest)], "\t", "        ")))
		for _, m := range functionBegins.FindAllStringSubmatch(line, 5) {
			name := cmp.Or(m[1], m[2])
			s.bodies[name] = append(s.bodies[name], i)
		}
	}
	return s
}

// lineAt is the number of the line that has an offset.
func (s *sourceLines) lineAt(offset int) int {
	i, found := slices.BinarySearch(s.starts, offset)
	if found {
		return i
	}
	return i - 1
}

// block is a line and those below it that are further to the right. Decorators and annotations belong to what
// follows.
func (s *sourceLines) block(i int) string {
	end, last := i+1, min(i+maxBlockLines, len(s.lines))
	for end < last && strings.HasPrefix(strings.TrimSpace(s.lines[end-1]), "@") {
		end++
	}
	for end < last && (s.indent[end] < 0 || s.indent[end] > s.indent[i]) {
		end++
	}
	return strings.Join(s.lines[i:end], "\n")
}

// around is the methods that the lines around one are about, none if they are about all.
func (s *sourceLines) around(i int) (methods []string, scope string) {
	indent := s.indent[i]
	for j := i - 1; j >= max(0, i-maxAroundLines) && indent > 0; j-- {
		if s.indent[j] < 0 || s.indent[j] >= indent {
			continue
		}
		indent = s.indent[j]
		if named := methodsIn(s.lines[j]); len(named) > 0 && !otherMethod.MatchString(s.lines[j]) {
			return named, s.block(j)
		}
	}
	return nil, ""
}

// handlers are the blocks of functions and classes that a text names, and that are not around it.
func (s *sourceLines) handlers(line string) string {
	var all []string
	names := anyIdentifier.FindAllString(line, maxNames)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		for _, i := range s.bodies[name] {
			if block := s.block(i); !strings.Contains(block, line) && len(all) < maxHandlers {
				all = append(all, block)
			}
		}
	}
	return strings.Join(all, "\n")
}

// methodsIn are the methods that a text names.
func methodsIn(text string) (methods []string) {
	for _, m := range namedMethod.FindAllStringSubmatch(text, 200) {
		method := strings.ToUpper(cmp.Or(m[1:]...))
		if !slices.Contains(methods, method) {
			methods = append(methods, method)
		}
	}
	return methods
}

// writeBlocks are the parts of a text that are about PUT and POST, all of it if none is.
func writeBlocks(text string) (blocks []string) {
	s := newSourceLines(text)
	for i, line := range s.lines {
		for _, method := range methodsIn(line) {
			if method != "GET" && len(blocks) < maxBlocks {
				blocks = append(blocks, s.block(i))
			}
		}
	}
	if len(blocks) == 0 {
		return []string{text}
	}
	return blocks
}

// routesOf are the paths of a program with the methods of each.
func routesOf(text string) (all []*route) {
	s := newSourceLines(text)
	mentioned := methodsIn(text)
	named := func(path string) *route {
		for _, r := range all {
			if r.path == path {
				return r
			}
		}
		r := &route{path: path, methods: map[string]bool{}}
		all = append(all, r)
		return r
	}
	add := func(offset int, method, written string, every bool) {
		path, ok := keyed(written)
		if !ok && every {
			path, ok = keyedInside(written)
		}
		if every && method == "" && written == "/" { // all paths
			path, ok = "/{key}", true
		}
		if !ok {
			return
		}
		i := s.lineAt(offset)
		methods, scopes := s.methodsAt(i, strings.ToUpper(method), mentioned)
		r := named(path)
		for _, m := range methods {
			r.methods[m] = true
		}
		if inner := s.block(i); len(r.own) < maxBlocks {
			r.own = append(r.own, inner+"\n"+s.handlers(inner))
		}
		if slices.Contains(methods, "PUT") || slices.Contains(methods, "POST") {
			r.writes = append(r.writes, scopes...)
		}
	}
	for _, pattern := range routes {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, 200) {
			add(m[0], text[m[2]:m[3]], text[m[4]:m[5]], true)
		}
	}
	for _, pattern := range matchedRoutes {
		for _, m := range pattern.FindAllStringSubmatchIndex(text, 200) {
			add(m[0], "", strings.ReplaceAll(text[m[2]:m[3]], `\`, "")+"/", false)
		}
	}
	for _, m := range comparedPart.FindAllStringSubmatchIndex(text, 200) {
		add(m[0], "", "/"+text[m[2]:m[3]]+"/", false)
	}
	for _, m := range comparedRoute.FindAllStringSubmatchIndex(text, 200) {
		add(m[0], "", text[m[2]:m[3]], false)
	}
	for _, d := range documentedRoutes(text) {
		if path, ok := keyed(d.path); ok {
			named(path).methods[d.method] = true
		}
	}
	return all
}

// documented is a route as a comment describes it.
type documented struct{ method, path string }

// documentedRoutes finds routes in comments. A last segment in capitals is a parameter.
func documentedRoutes(text string) (all []documented) {
	for _, c := range commentLine.FindAllString(text, 2000) {
		for _, m := range documentedRoute.FindAllStringSubmatch(c, 10) {
			path := strings.TrimRight(m[2], ".:")
			dir, last := path[:strings.LastIndex(path, "/")+1], path[strings.LastIndex(path, "/")+1:]
			if capitals.MatchString(last) {
				path = dir + "{key}"
			}
			all = append(all, documented{m[1], path})
		}
	}
	return all
}

// methodsAt are the methods of a route in a line, and the parts of the source that handle it: the method that stands
// with the route, else those of the line, else the one in whose handler it stands, else those in its own handler, else
// those that the source names anywhere.
func (s *sourceLines) methodsAt(i int, method string, mentioned []string) (methods, scopes []string) {
	line := s.lines[i]
	inner := s.block(i)
	own := inner + "\n" + s.handlers(line)
	if method != "" {
		if own == line+"\n" { // the handler is elsewhere
			return []string{method}, nil
		}
		return []string{method}, []string{own}
	}
	inLine := methodsIn(line)
	if strings.Contains(line, ".route(") {
		for _, m := range chainedMethod.FindAllStringSubmatch(line, 10) {
			inLine = append(inLine, strings.ToUpper(m[1]))
		}
		if flaskRoute.MatchString(line) && !strings.Contains(line, "methods") {
			inLine = []string{"GET"}
		}
	}
	if len(inLine) > 0 && !otherMethod.MatchString(line) {
		return inLine, []string{own}
	}
	if around, scope := s.around(i); len(around) > 0 {
		return around, []string{scope}
	}
	if inside := methodsIn(own); len(inside) > 0 {
		return append(inside, "GET"), writeBlocks(own) // the branch without a name is that of GET
	}
	return append(slices.Clone(mentioned), "GET"), nil
}

// operations guesses where keys are read and written.
func (s *server) operations(text string) {
	text = text[:min(len(text), maxSourceBytes)]
	all := routesOf(text)
	rank := func(r *route) int {
		switch {
		case !r.methods["GET"]:
			return 6
		case strings.HasSuffix(r.path, "/{key}") && r.methods["PUT"]:
			return 0
		case strings.HasSuffix(r.path, "/{key}") && r.methods["POST"]:
			return 1
		case strings.HasSuffix(r.path, "/{key}"):
			return 2
		case strings.Contains(r.path, "/{key}/"):
			return 3
		case aboutHealth.MatchString(r.path):
			return 5
		}
		return 4 // an address that has no key
	}
	slices.SortStableFunc(all, func(a, b *route) int { return cmp.Compare(rank(a), rank(b)) })
	mentioned := methodsIn(text)
	var writes []string
	switch {
	case len(all) > 0 && rank(all[0]) <= 5:
		r := all[0]
		s.path, s.puts, writes = r.path, rank(r) <= 1, r.writes
		s.post = rank(r) == 1
	case slices.Contains(mentioned, "PUT"):
		s.path, s.puts = "/kv/{key}", true // a server that reads methods and paths by itself
	default:
		s.path = "/?key={key}"
	}
	for _, r := range all {
		if !r.methods["GET"] && (r.methods["PUT"] || r.methods["POST"]) {
			method := map[bool]string{true: "PUT", false: "POST"}[r.methods["PUT"]]
			s.otherWrites = append(s.otherWrites, method+" "+strings.TrimSuffix(r.path, "?key={key}"))
		}
	}
	if slices.Contains(mentioned, "PUT") && !slices.ContainsFunc(all, func(r *route) bool { return r.methods["PUT"] }) {
		s.otherWrites = append([]string{"PUT"}, s.otherWrites...)
	}
	if len(writes) == 0 || !s.puts {
		writes = writeBlocks(text)
		s.json = takesJSON(text, writes)
	} else {
		handlers := strings.Join(writes, "\n")
		s.json = takesJSON(handlers+"\n"+newSourceLines(text).handlers(handlers), writes)
	}
	s.findAmounts(text, all)
	s.register = s.puts && !s.post && !s.json && !noRegisterRoute.MatchString(s.path) &&
		!slices.ContainsFunc(writes, func(text string) bool { return noRegister.MatchString(bodyParts.ReplaceAllString(text, "")) })
}

// takesJSON reports whether a program parses bodies of requests. What a handler of writes parses is a body, unless it is
// a file.
func takesJSON(text string, writes []string) bool {
	if jsonBody.MatchString(text) {
		return true
	}
	for _, m := range springBody.FindAllStringSubmatch(text, 20) {
		if m[1] != "String" && m[1] != "byte" {
			return true
		}
	}
	for _, w := range writes {
		if w == text {
			continue
		}
		for _, line := range strings.Split(w, "\n") {
			if anyJSON.MatchString(line) && !readsFile.MatchString(line) {
				return true
			}
		}
	}
	return false
}

// keyedInside makes the path of an operation out of a route with one parameter that is not its last part: /accounts/:id/deposit
// becomes /accounts/{key}/deposit.
func keyedInside(route string) (string, bool) {
	parts, keys := strings.Split(route, "/"), 0
	for i, part := range parts {
		if parameter.MatchString(part) {
			parts[i] = "{key}"
			keys++
		} else if !plainRoute.MatchString("/" + part) {
			return "", false
		}
	}
	return strings.Join(parts, "/"), keys == 1
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
