package scaffolding

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// amounts is the interface of a server that keeps a number for each key, such as the balances of a bank or counters, and
// whose requests add to a number, take from it, or move an amount from one to another.
type amounts struct {
	changes []change
	// creates is a request that makes a key with a first number; its path is empty if there is none.
	creates change
	// read is the path of GET, with {key}; number is the field that has the number, if the reply is an object.
	read, number string
	// keys are the keys that the program creates itself.
	keys []string
}

// change is a request that changes numbers.
type change struct {
	op, method, path string // path with {key} where it has one
	// fields of the JSON body in the order of the source, each with its role.
	fields []bodyField
	// takes, gives: an amount leaves a key, arrives at a key; a transfer does both.
	takes, gives bool
}

type bodyField struct {
	name string
	role role
}

// role is the part that a field of a body has in a change.
type role string

const (
	fromKey  role = "from"
	toKey    role = "to"
	oneKey   role = "key"
	quantity role = "amount"
	first    role = "first" // a number to begin with
	unique   role = "unique"
)

// maxFields bounds the fields of one body, maxChanges the requests of a driver, maxKeys the keys.
const (
	maxFields  = 8
	maxChanges = 6
	maxKeys    = 6
)

const accountWords = `(?:acc(?:oun)?t|user|customer|wallet|owner)?(?:id|name|number|no)?`

// roles are the roles of fields by their names, in small letters without underscores.
var roles = []struct {
	role  role
	names *lazyregexp.Regexp
}{
	{fromKey, lazyregexp.New(`^(?:(?:from|src|source|sender|payer|debtor)` + accountWords + `|` + accountWords + `from)$`)},
	{toKey, lazyregexp.New(`^(?:(?:to|dst|dest|destination|target|receiver|recipient|payee|creditor)` + accountWords + `|` + accountWords + `to)$`)},
	{first, lazyregexp.New(`^(?:balance|(?:initial|opening|starting|start)(?:balance|amount|deposit|value)?)$`)},
	{quantity, lazyregexp.New(`^(?:amount|amt|delta|by|n|cents|qty|quantity|sum|step|increment|value|points)(?:cents)?$`)},
	{unique, lazyregexp.New(`^(?:(?:request|idempotency|transfer|tx|txn|transaction)(?:id|key|ref)|reference|nonce)$`)},
	{oneKey, lazyregexp.New(`^(?:id|key|name|(?:acc(?:oun)?t|user|customer|wallet|owner|counter|item|sku|product)(?:id|name|number|no)?)$`)},
}

var (
	// The names of requests that take from a number, add to one, or move an amount. A word may be part of a longer name.
	takingName  = lazyregexp.New(`(?i)withdraw|debit|decr|subtract|spend|charge|consume|reserve`)
	givingName  = lazyregexp.New(`(?i)deposit|credit|incr|increment|top-?up|refund|bump|vote|^(?:add|inc|hit|like)$`)
	addsInPlace = lazyregexp.New(`\+=|(?i:\bbalance|value|count|total|amount)["'\])]*\s*\+\s*[\w?$:%]`)

	// The ways to read a field of a body: body["from"], body.get("from"), request.json["from"], body.from, and
	// const { from, to } = JSON.parse(text).
	aBody       = `(?:body|data|payload|doc|document|req|request|params|msg|message|args|input|parsed|obj|content|form|query|qs|fields|transfer|json|d|b|j|q|p|r|m)`
	bodyIndex   = lazyregexp.New(`\b` + aBody + `(?:\.(?:json|body|form|args|get_json\([^()\n]{0,40}\)))?(?:\(\))?(?:\[["'](\w+)["']\]|\.(?:get|pop|getString|getInt|getLong|optInt|optString)\(\s*["'](\w+)["'])`)
	callIndex   = lazyregexp.New(`(?:\bloads?\([^\n]{0,80}\)|json\([^()\n]{0,40}\)|body\(\)|payload\(\)|document\(\))(?:\[["'](\w+)["']\]|\.get\(\s*["'](\w+)["'])`)
	bodyMember  = lazyregexp.New(`\b(?:body|data|payload|req\.body|request\.body)\.([A-Za-z]\w*)\b`)
	queryField  = lazyregexp.New(`(?:Query\(\)\.Get|searchParams\.get|query\.get|args\.get|parse_qs\([^()\n]{0,60}\)\.get)\(\s*["'](\w+)["']|parse_qs\([^()\n]{0,60}\)\[["'](\w+)["']\]|\breq\.query\.(\w+)`)
	destructure = lazyregexp.New(`(?:const|let|var)\s*\{([^}\n]{1,120})\}\s*=`)
	jsonTag     = lazyregexp.New(`json:"(\w+)[",]`)
	modelField  = lazyregexp.New(`(?m)^\s+(\w+)\s*:\s*(?:str|int|float|Decimal|Optional|constr|conint)\b(?:[^\n]{0,60}?alias\s*=\s*["'](\w+)["'])?`)
	jsonFields  = lazyregexp.New(`["']?\b([A-Za-z_]\w*)["']?\s*[:,}]`)

	// The field of a number in a reply.
	numberField = lazyregexp.New(`["'](balance|value|count|total|amount)["']\s*:|json:"(balance|value|count|total|amount)[",]`)
	otherReads  = lazyregexp.New(`(?i)transfer|history|statement|transaction|event`)

	// The keys that a program creates: {"alice": 100, "bob": 100}, [("alice", 100), ("bob", 100)], and ("alice", "bob").
	namedNumbers = lazyregexp.New(`\{\s*((?:["']?[A-Za-z][\w-]*["']?\s*:\s*[\d_]+(?:\.\d+)?\s*,?\s*){2,})\}`)
	namePairs    = lazyregexp.New(`[\[(]\s*((?:[\[(]\s*["'][\w-]+["']\s*,\s*[\d_]+\s*[\])]\s*,?\s*){2,})[\])]`)
	nameList     = lazyregexp.New(`[\[(]\s*((?:["'][A-Za-z][\w-]*["']\s*,\s*)+["'][A-Za-z][\w-]*["']\s*,?\s*)[\])]`)
	aKey         = lazyregexp.New(`[A-Za-z][\w-]*`)
	createsKeys  = lazyregexp.New(`(?i)insert\b|accounts?\b|users?\b|wallets?\b|counters?\b`)
	notKeys      = lazyregexp.New(`(?i)methods?\b|argv|header|["'](?:get|put|post|delete)["']|choices|column`)
	// for i in range(1, 6), and for (let i = 0; i < 5; i++); then f"acct-{i}", "acct%d" % i and str(i).
	countedKeys   = lazyregexp.New(`\bfor\s+(\w+)\s+in\s+range\(\s*(?:(\d+)\s*,\s*)?(\w+)\s*(\+\s*1)?\)|\bfor\s*\(\s*(?:let|var|int)\s+(\w+)\s*=\s*(\d+)\s*;\s*\w+\s*<(=?)\s*(\w+)`)
	formattedKeys = lazyregexp.New(`["'` + "`" + `]([A-Za-z][\w-]*)(?:\$?\{(\w+)\}|%d|%s|["']\s*\+\s*(?:str\()?\w)`)
	textKeys      = lazyregexp.New(`\bstr\(|String\(|\bTEXT\b`)
)

// roleOf is the part of a field with a name, empty if it is not known.
func roleOf(name string) role {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	for _, r := range roles {
		if r.names.MatchString(name) {
			return r.role
		}
	}
	return ""
}

// fieldsIn are the fields of a body that a handler reads, each once. Those without a role are left out.
func fieldsIn(text string) (fields []bodyField) {
	add := func(name string) {
		if r := roleOf(name); r != "" && len(fields) < maxFields && !slices.ContainsFunc(fields, func(f bodyField) bool { return f.role == r }) {
			fields = append(fields, bodyField{name, r})
		}
	}
	for _, pattern := range []*lazyregexp.Regexp{bodyIndex, callIndex, bodyMember, queryField, jsonTag} {
		for _, m := range pattern.FindAllStringSubmatch(text, 100) {
			add(cmp.Or(m[1:]...))
		}
	}
	for _, m := range destructure.FindAllStringSubmatch(text, 20) {
		for _, part := range strings.Split(m[1], ",") {
			name, _, _ := strings.Cut(part, ":")
			name, _, _ = strings.Cut(name, "=")
			add(strings.TrimSpace(name))
		}
	}
	for _, m := range modelField.FindAllStringSubmatch(text, 50) {
		add(cmp.Or(m[2], m[1]))
	}
	return fields
}

// has returns the name of the field with a role.
func (c *change) has(r role) bool {
	return slices.ContainsFunc(c.fields, func(f bodyField) bool { return f.role == r })
}

// changeOf guesses what a request of PUT or POST does to numbers. It reports false if that is not clear.
func changeOf(method string, r *route, fields []bodyField) (c change, creates, ok bool) {
	c = change{method: method, path: strings.TrimSuffix(r.path, "?key={key}"), fields: fields}
	keyed := strings.Contains(c.path, "{key}")
	for part := range strings.SplitSeq(c.path, "/") {
		if part != "" && part != "{key}" {
			c.op = strings.ToLower(notInNames.ReplaceAllString(part, "_"))
		}
	}
	c.op = strings.TrimSuffix(c.op, "s")
	keep := func(kept ...role) {
		c.fields = slices.DeleteFunc(slices.Clone(c.fields), func(f bodyField) bool { return !slices.Contains(kept, f.role) })
	}
	named := keyed || c.has(oneKey)
	handler := strings.Join(r.own, "\n")
	switch {
	case c.has(quantity) && c.has(toKey) && (c.has(fromKey) || keyed):
		c.takes, c.gives = true, true
		if c.has(fromKey) {
			keep(fromKey, toKey, quantity, unique)
		} else {
			keep(toKey, quantity, unique)
		}
		return c, false, c.op != ""
	case c.has(first) && named && !takingName.MatchString(c.op) && !givingName.MatchString(c.op):
		keep(oneKey, first)
		return c, true, true
	case !named:
		return c, false, false
	case takingName.MatchString(c.op):
		c.takes = true
	case givingName.MatchString(c.op):
		c.gives = true
	case method == "POST" && keyed && strings.HasSuffix(c.path, "/{key}") && addsInPlace.MatchString(handler):
		c.op, c.gives = "add", true
	default:
		return c, false, false
	}
	if !c.has(quantity) && c.has(first) {
		return c, false, false
	}
	keep(oneKey, quantity, unique)
	return c, false, true
}

// findAmounts guesses the interface of a server that keeps numbers, from its routes. It sets nothing if no request changes
// a number, or none reads one.
func (s *server) findAmounts(text string, all []*route) {
	var a amounts
	for _, r := range all {
		if r.methods["GET"] && strings.Contains(r.path, "{key}") && !aboutHealth.MatchString(r.path) && !otherReads.MatchString(r.path) {
			path := r.path
			if before, ok := strings.CutSuffix(path, "?key={key}"); ok {
				fields := fieldsIn(strings.Join(r.own, "\n"))
				i := slices.IndexFunc(fields, func(f bodyField) bool { return f.role == oneKey })
				if i < 0 {
					continue
				}
				path = before + "?" + fields[i].name + "={key}"
			}
			if better := strings.Contains(path, "balance") && !strings.Contains(a.read, "balance"); a.read == "" || better {
				a.read = path
			}
		}
	}
	documented, lines := documentedFields(text), newSourceLines(text)
	for _, r := range all {
		for _, method := range []string{"POST", "PUT"} {
			if !r.methods[method] || a.read == "" {
				continue
			}
			bodies := [][]bodyField{documented[method+" "+strings.TrimSuffix(r.path, "?key={key}")]}
			writes := strings.Join(r.writes, "\n")
			for _, handler := range []string{strings.Join(r.own, "\n"), writes, writes + "\n" + lines.handlers(writes)} {
				bodies = append(bodies, fieldsIn(handler))
			}
			c, creates, ok := changeOf(method, r, nil)
			for _, fields := range bodies {
				if found, creating, also := changeOf(method, r, fields); also && len(found.fields) > 0 {
					c, creates, ok = found, creating, true
					break
				}
			}
			switch {
			case ok && creates && a.creates.path == "":
				a.creates = c
			case ok && !creates && len(a.changes) < maxChanges &&
				!slices.ContainsFunc(a.changes, func(other change) bool { return other.op == c.op }):
				a.changes = append(a.changes, c)
			}
		}
	}
	if len(a.changes) == 0 {
		return
	}
	a.number = "balance"
	if m := numberField.FindStringSubmatch(text); m != nil {
		a.number = cmp.Or(m[1:]...)
	}
	a.keys = keysIn(text)
	s.amounts = a
}

// documentedFields are the fields of bodies that comments show, such as POST /transfer {"from": "a", "to": "b"}.
func documentedFields(text string) map[string][]bodyField {
	all := map[string][]bodyField{}
	for _, line := range commentLine.FindAllString(text, 2000) {
		for _, m := range documentedRoute.FindAllStringSubmatchIndex(line, 10) {
			_, body, ok := strings.Cut(line[m[1]:], "{")
			if !ok || strings.ContainsAny(line[m[1]:len(line)-len(body)], "./") {
				continue
			}
			path := strings.TrimRight(line[m[4]:m[5]], ".:")
			if dir, last := path[:strings.LastIndex(path, "/")+1], path[strings.LastIndex(path, "/")+1:]; capitals.MatchString(last) {
				path = dir + "{key}"
			}
			var fields []bodyField
			for _, f := range jsonFields.FindAllStringSubmatch(body, maxFields) {
				if r := roleOf(f[1]); r != "" && !slices.ContainsFunc(fields, func(f bodyField) bool { return f.role == r }) {
					fields = append(fields, bodyField{f[1], r})
				}
			}
			all[line[m[2]:m[3]]+" "+path] = fields
		}
	}
	return all
}

// keysIn are the keys that a program creates when it starts, as they stand in its source; none if that is not clear. A key
// that is a number has no quotes.
func keysIn(text string) []string {
	quotedWords := func(list string) (keys []string) {
		for _, w := range aKey.FindAllString(list, maxKeys) {
			keys = append(keys, quoted(w))
		}
		return keys
	}
	for _, pattern := range []*lazyregexp.Regexp{namePairs, namedNumbers} {
		for _, m := range pattern.FindAllStringSubmatch(text, 20) {
			if roleOf(firstWord(m[1])) == "" {
				return quotedWords(m[1])
			}
		}
	}
	lines := strings.Split(text, "\n")
	const near = 4 // lines in which the key is made or stored
	for i, line := range lines {
		block := strings.Join(lines[i:min(len(lines), i+near)], "\n")
		if m := nameList.FindStringSubmatch(line); m != nil && !notKeys.MatchString(line) && createsKeys.MatchString(block) &&
			roleOf(firstWord(m[1])) == "" {
			return quotedWords(m[1])
		}
		if m := countedKeys.FindStringSubmatch(line); m != nil && createsKeys.MatchString(block) {
			if keys := counted(text, block, cmp.Or(m[2], m[6]), cmp.Or(m[3], m[8]), m[4]+m[7] != ""); len(keys) > 0 {
				return keys
			}
		}
	}
	return nil
}

func firstWord(list string) string { return strings.Join(aKey.FindAllString(list, 1), "") }

// counted are the keys of a loop over numbers. The end of the numbers may be the name of a constant.
func counted(text, block, begin, end string, including bool) (keys []string) {
	number := func(word string) (n int) {
		if _, err := fmt.Sscanf(word, "%d", &n); err == nil {
			return n
		}
		constant := lazyregexp.New(`\b` + word + `\s*=[^\n]{0,60}?\b(\d{1,6})\b`)
		_, _ = fmt.Sscanf(firstGroup(constant, text), "%d", &n)
		return n
	}
	from, to := 0, number(end)
	if begin != "" {
		from = number(begin)
	}
	if including {
		to++
	}
	for n := from; n < to && len(keys) < maxKeys; n++ {
		switch m := formattedKeys.FindStringSubmatch(block); {
		case m != nil:
			keys = append(keys, quoted(fmt.Sprintf("%s%d", m[1], n)))
		case textKeys.MatchString(block):
			keys = append(keys, quoted(fmt.Sprint(n)))
		default:
			keys = append(keys, fmt.Sprint(n))
		}
	}
	if len(keys) < 2 {
		return nil
	}
	return keys
}

//go:embed driver/amounts.py
var amountRequests string

// amountsDriver returns a driver in Python for a server that keeps numbers.
func (a *amounts) driver() string {
	request, _, _ := strings.Cut(httpRequests, "\n\n\ndef value_of(")
	_, clients, _ := strings.Cut(recordingClients, "def say(")
	keys := a.keys
	if len(keys) == 0 {
		keys = []string{`"k0"`, `"k1"`, `"k2"`, `"k3"`, `"k4"`}
	}
	// Half as many operations as for a store: a change may be several writes that a slow disk must keep.
	request = strings.NewReplacer("OPERATIONS, PAUSE_S = 4, 200, 0.1", "OPERATIONS, PAUSE_S = 4, 100, 0.2",
		"Edit `perform` for your server.", "`init` guessed `send`, `perform` and KEYS.",
		`KEYS = ["k0", "k1", "k2", "k3", "k4"]`, "KEYS = ["+strings.Join(keys, ", ")+"]").Replace(request)
	var sends, draws, creates strings.Builder
	for _, c := range a.changes {
		fmt.Fprintf(&sends, "    if op == %q:\n        return %s\n", c.op, c.python())
		fmt.Fprintf(&draws, "        (%q, %s),\n", c.op, c.drawn())
	}
	if a.creates.path != "" {
		fmt.Fprintf(&creates, "    c = {\"key\": key, \"amount\": 100}\n    %s\n", a.creates.python())
	} else if i := slices.IndexFunc(a.changes, func(c change) bool { return c.gives && !c.takes && c.has(quantity) }); i >= 0 && len(a.keys) == 0 {
		fmt.Fprintf(&creates, "    c = {\"key\": key, \"amount\": 100, \"request\": \"first-%%s\" %% key}\n    %s\n", a.changes[i].python())
	}
	text := strings.NewReplacer("    # SENDS\n", sends.String(), "        # DRAWS\n", draws.String(),
		`"GET", PATH`, `"GET", `+pythonPath(a.read, "key"), "NUMBER", a.number).Replace(amountRequests)
	clients = "def say(" + strings.NewReplacer(
		"say(type=\"ready\") ", "for key in KEYS:\n"+creates.String()+"    operation(\"first-%s\" % key, \"first\", key)\nsay(type=\"ready\") ",
		`"get", key`, `"last", key`).Replace(clients)
	return request + "\n\n\n" + text + "\n\n" + clients
}

// pythonPath is an expression of Python for a path with a key.
func pythonPath(path, key string) string {
	if !strings.Contains(path, "{key}") {
		return quoted(path)
	}
	return quoted(strings.Replace(path, "{key}", "%s", 1)) + " % " + key
}

// python is the call that sends a request. The operation c has a key, or from and to, and an amount.
func (c *change) python() string {
	var fields []string
	value := map[role]string{fromKey: `c["from"]`, toKey: `c["to"]`, oneKey: `c["key"]`, quantity: `c["amount"]`, first: `c["amount"]`, unique: `c["request"]`}
	for _, f := range c.fields {
		fields = append(fields, fmt.Sprintf("%q: %s", f.name, value[f.role]))
	}
	key := `c["key"]`
	if c.takes && c.gives {
		key = `c["from"]`
	}
	call := fmt.Sprintf("request(%q, %s", c.method, pythonPath(c.path, key))
	if len(fields) > 0 {
		call += ", {" + strings.Join(fields, ", ") + "}"
	}
	return call + ")"
}

// drawn is the input of an operation that a client draws.
func (c *change) drawn() string {
	parts := []string{`"key": key`}
	switch {
	case c.takes && c.gives:
		parts = []string{`"from": key`, `"to": other`}
	case c.takes:
		parts = append(parts, `"from": key`)
	default:
		parts = append(parts, `"to": key`)
	}
	amount := `"amount": 1`
	if c.has(quantity) {
		amount = `"amount": amount`
	}
	parts = append(parts, amount)
	if c.has(unique) {
		parts = append(parts, `"request": unique`)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// transfers reports whether a request moves an amount from one key to another.
func (a *amounts) transfers() bool {
	return slices.ContainsFunc(a.changes, func(c change) bool { return c.takes && c.gives })
}

// onlyTransfers reports whether no request changes the total.
func (a *amounts) onlyTransfers() bool {
	return !slices.ContainsFunc(a.changes, func(c change) bool { return c.takes != c.gives })
}

// inWords lists the requests of the driver.
func (a *amounts) inWords() string {
	var all []string
	for _, c := range a.changes {
		var fields []string
		for _, f := range c.fields {
			fields = append(fields, f.name)
		}
		words := c.method + " " + c.path
		if len(fields) > 0 {
			words += " {" + strings.Join(fields, ", ") + "}"
		}
		all = append(all, words)
	}
	return strings.Join(all, ", ")
}

// properties are the properties of numbers: what the last reads may show, given the first reads and the changes.
func (a *amounts) properties() string {
	var ops []string
	for _, c := range a.changes {
		ops = append(ops, quoted(c.op))
	}
	text := fmt.Sprintf(numbersAddUp, strings.Join(ops, ", "))
	if a.transfers() && a.onlyTransfers() {
		text = totalIsKept + text
	}
	return text
}

// operations lists the operations that clients repeat.
func (a *amounts) operations() string {
	var ops []string
	for _, c := range a.changes {
		ops = append(ops, c.op)
	}
	return strings.Join(append(ops, "read"), ", ")
}

// totalIsKept is the property of a server that only moves amounts between keys.
const totalIsKept = `  - name: the total is kept
    kind: safety
    description: Transfers do not change the sum of all numbers.
    check:
      type: expression
      condition: >-
        count(ops, .op == "last" and .type == "ok") < count(ops, .op == "first")
        or sum(filter(ops, .op == "last" and .type == "ok"), int(.output)) == sum(filter(ops, .op == "first" and .type == "ok"), int(.output))
`

// numbersAddUp is the property of a server that keeps numbers. A request of unknown outcome may have moved its amount, or not.
const numbersAddUp = `  - name: numbers add up
    kind: safety
    description: At the end each number includes every acknowledged change, and perhaps those of unknown outcome.
    check:
      type: expression
      condition: >-
        filter(ops, .op == "last" and .type == "ok" and (
          let key = .key;
          let before = sum(filter(ops, .op == "first" and .type == "ok" and .key == key), int(.output));
          let changes = filter(ops, .op in [%s] and .type != "fail");
          let given = filter(changes, fromJSON(.input).to == key);
          let taken = filter(changes, fromJSON(.input).from == key);
          let sure = filter(given, .type == "ok");
          let gone = filter(taken, .type == "ok");
          let number = int(.output);
          number < before + sum(sure, fromJSON(.input).amount) - sum(taken, fromJSON(.input).amount)
          or number > before + sum(given, fromJSON(.input).amount) - sum(gone, fromJSON(.input).amount)))
`
