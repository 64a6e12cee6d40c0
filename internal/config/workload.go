package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// links reads the network's defaults and the links that differ from them.
func (l *loader) links(top *node) {
	l.spec.DefaultLink = linkOf(top.get("network"), world.Link{LatencyNs: 500_000, JitterNs: 100_000})
	for i, n := range top.get("links").list() {
		key := fmt.Sprintf("links[%d]", i)
		k := linkOf(n, l.spec.DefaultLink)
		k.OneWay = valueOr(n.get("one_way"), false)
		between := n.get("between")
		ends := between.list()
		switch {
		case between == nil:
			l.missing(n, "between", "add `between: [a, b]`", "%s does not name two nodes", key)
			continue
		case len(ends) < len(between.items):
			continue
		case len(ends) != 2:
			l.fail(n.position, "write `between: [a, b]`", "%s does not name two nodes", key)
			continue
		case !l.known(ends[0].position, key+".between", ends[0].text) || !l.known(ends[1].position, key+".between", ends[1].text):
			continue
		case ends[0].text == ends[1].text:
			l.fail(between.position, "name two nodes", "%s leads from %s to itself", key, ends[0].text)
			continue
		}
		k.From, k.To = ends[0].text, ends[1].text
		if slices.ContainsFunc(l.spec.Links, func(o world.Link) bool { return overlap(o, k) }) {
			l.fail(between.position, "keep one of them", "%s: the link between %s and %s is there twice", key, k.From, k.To)
			continue
		}
		l.spec.Links = append(l.spec.Links, k)
	}
}

func overlap(a, b world.Link) bool {
	same := a.From == b.From && a.To == b.To
	crossed := a.From == b.To && a.To == b.From
	return same || crossed && !(a.OneWay && b.OneWay)
}

func linkOf(n *node, otherwise world.Link) world.Link {
	return world.Link{LatencyNs: valueOr(n.get("latency"), otherwise.LatencyNs), JitterNs: valueOr(n.get("jitter"), otherwise.JitterNs),
		BandwidthBytes: valueOr(n.get("bandwidth_bytes"), otherwise.BandwidthBytes)}
}

func (l *loader) workloads(top *node) {
	all := top.get("workloads").list()
	one := top.get("workload")
	if one != nil && top.has("workloads") {
		l.fail(top.entry("workloads").key.position, "put all of them under `workloads:`", "there are both workload and workloads")
	}
	prefix := func(i int) string { return fmt.Sprintf("workloads[%d]", i) }
	if one != nil {
		all, prefix = append([]*node{one}, all...), func(int) string { return "workload" }
	}
	load := ""
	for i, n := range all {
		w, ok := l.workload(n, prefix(i))
		if !ok {
			continue
		}
		if !n.has("node") {
			if load == "" {
				load = l.client("load").name
			}
			w.Node = load
		}
		l.template(n.get("config").get("template"), &w)
		l.spec.Workloads = append(l.spec.Workloads, w)
	}
	for _, d := range l.nodes {
		used := slices.ContainsFunc(all, func(n *node) bool { return valueOr(n.get("node"), "") == d.name })
		if d.spec.Role == world.Client && d.at.line > 0 && len(d.spec.Command) == 0 && !used && !d.value.entry("command").isBad() {
			l.fail(d.at, "give it `command:`, or name it as the `node:` of a workload", "client %s has no command, and no workload runs on it", d.name)
		}
	}
}

// driverNames are all drivers.
var driverNames = []string{"http", "redis", "sql", "etcd", "command", "composer"}

// workload reads one workload; false is one of which nothing is known.
func (l *loader) workload(n *node, key string) (world.Workload, bool) {
	before := len(l.errs)
	c := n.get("config")
	w := world.Workload{Driver: valueOr(n.get("driver"), "")}
	if w.Driver == "" {
		l.missing(n, "driver", "add `driver:`, one of "+strings.Join(driverNames, ", "), "%s has no driver", key)
		return w, false
	}
	w.Name = valueOr(n.get("name"), w.Driver)
	if slices.ContainsFunc(l.spec.Workloads, func(o world.Workload) bool { return o.Name == w.Name }) {
		l.fail(n.position, "give each a `name:` of its own", "%s: another workload is named %q too", key, w.Name)
	}
	l.remember(place{part: engine.PartWorkload, name: w.Name}, n.get("driver"), key)
	l.onlyFor(n, key, "driver", w.Driver, map[string]string{"command": "command"})
	l.onlyFor(c, key+".config", "driver", w.Driver, map[string]string{"target": "http sql etcd", "master": "redis", "replicas": "redis",
		"command": "command", "environment": "command composer", "template": "composer",
		"qps": "http redis sql etcd", "max_operations": "http redis sql etcd", "timeout": "http redis sql etcd", "clients": "http redis sql etcd composer", "operations": "http redis sql etcd", "dictionary": "http redis sql etcd", "options": "http redis sql etcd"})
	w.Node = valueOr(n.get("node"), "")
	if on := n.get("node"); on != nil && l.known(on.position, key+".node", w.Node) && l.node(w.Node).spec.Role != world.Client {
		l.fail(on.position, "give it `role: client`, or leave `node:` out for a client of its own", "%s.node: %s is a server, and drivers run on clients", key, w.Node)
	}
	if w.Driver != "command" {
		w.Clients = int(valueOr(c.get("clients"), int64(4)))
	}
	w.RatePerS = valueOr(c.get("qps"), 0.0)
	w.DurationNs = valueOr(c.get("duration"), int64(0)) // 0 is completed when faults.settle is known
	w.Operations = int(valueOr(c.get("max_operations"), int64(0)))
	w.TimeoutNs = valueOr(c.get("timeout"), int64(0)) // 0 is the driver's own
	if o := c.get("options"); o != nil {
		w.Options = map[string]string{}
		for _, e := range o.entries {
			switch v := e.value.value.(type) {
			case bool:
				w.Options[e.name] = strconv.FormatBool(v)
			case string:
				w.Options[e.name] = v
			case int64:
				w.Options[e.name] = strconv.FormatInt(v, 10)
			}
		}
		l.onlyFor(o, key+".config.options", "driver", w.Driver, map[string]string{"spread": "http redis sql etcd", "isolation": "sql", "model": "sql", "serializable": "etcd", "back": "etcd", "fail_status": "http",
			"put_method": "http", "trim_space": "http", "sentinels": "redis", "master_name": "redis"})
	}
	switch w.Driver {
	case "command":
		l.commandDriver(n, &w, key)
	case "composer":
		l.driverEnv(c, &w)
		return w, true
	case "http", "etcd":
		l.targets(c.get("target"), "http", key+".config.target", &w)
	case "sql":
		l.databases(c.get("target"), key+".config.target", &w)
	case "redis":
		l.targets(c.get("master"), "redis", key+".config.master", &w)
		l.targets(c.get("replicas"), "redis", key+".config.replicas", &w)
	}
	if len(w.Targets) == 0 && w.Driver != "command" && w.Options["sentinels"] == "" && len(l.errs) == before {
		remedy := map[string]string{"http": "add `config: {target: \"http://NODE:PORT\"}`", "redis": "add `config: {master: \"redis://NODE:PORT\"}`",
			"sql": "add `config: {target: \"postgres://USER@NODE:PORT/NAME\"}`", "etcd": "add `config: {target: \"http://NODE:2379\"}`"}[w.Driver]
		l.fail(n.position, remedy, "%s does not say which server it talks to", key)
	}
	l.mix(c.get("operations"), &w, key+".config.operations")
	l.dictionary(c.get("dictionary"), &w, key+".config.dictionary")
	return w, true
}

// onlyFor complains about keys that mean something to another driver or type only.
func (l *loader) onlyFor(n *node, key, what, is string, belongs map[string]string) {
	if n == nil {
		return
	}
	for _, e := range n.entries {
		if to, ok := belongs[e.name]; ok && !slices.Contains(strings.Fields(to), is) {
			l.fail(e.key.position, "remove it", "%s.%s is for %s %s, and this is %s", key, e.key.text, what, strings.Join(strings.Fields(to), " or "), is)
		}
	}
}

func (l *loader) commandDriver(n *node, w *world.Workload, key string) {
	c := n.get("config")
	at, name := n.get("command"), key+".command"
	if inside := c.get("command"); inside != nil {
		if at != nil {
			l.fail(inside.position, "keep one of them", "%s has two commands", key)
		}
		at, name = inside, key+".config.command"
	}
	w.Command = l.program(at, name)
	l.remember(place{part: engine.PartWorkload, name: w.Name}, at, name)
	if len(w.Command) == 0 && !n.entry("command").isBad() && !c.entry("command").isBad() {
		l.fail(n.position, "add `command:`, a program that reports its operations to $BLOODHOUND_REPORT", "%s has no command", key)
	}
	l.driverEnv(c, w)
}

func (l *loader) driverEnv(c *node, w *world.Workload) {
	if e := c.get("environment"); e != nil {
		w.Env = settle(valueOr(e, []variable(nil)), e.file.lookup)
	}
}

// templatesDir is where test templates lie in a node.
const templatesDir = "/opt/antithesis/test/v1"

// template reads where the test template of a composer is: a folder of the project is mounted where templates lie.
func (l *loader) template(n *node, w *world.Workload) {
	if n == nil || w.Driver != "composer" || n.bad {
		return
	}
	w.Options = map[string]string{"template": n.text}
	if path.IsAbs(n.text) {
		return
	}
	dir := l.under(l.spec.Dir, n.text)
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.fail(n.position, "name a folder of test commands, such as parallel_driver_NAME", "template: %v", err)
		return
	}
	target := path.Join(templatesDir, filepath.Base(dir))
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() }) {
		target = templatesDir // templates, each in a folder of its own
	}
	w.Options["template"] = target
	on := l.node(w.Node)
	if on == nil {
		return // told already
	}
	on.spec.Volumes = append(on.spec.Volumes, world.Volume{Kind: world.Bind, Source: dir, Target: target})
}

// program reads a command whose program is a file of the project or is found in PATH.
func (l *loader) program(n *node, key string) []string {
	words := l.argv(n, key)
	if len(words) == 0 || words[0] == "" {
		return nil
	}
	words = slices.Clone(words)
	inDir := filepath.Join(l.spec.Dir, words[0])
	switch _, err := os.Stat(inDir); {
	case strings.Contains(words[0], "/"):
		words[0] = l.under(l.spec.Dir, words[0])
	case err == nil:
		words[0] = inDir
	}
	return words
}

// mix reads the operations of a workload.
func (l *loader) mix(n *node, w *world.Workload, key string) {
	if w.Driver == "command" {
		return // the program chooses its operations itself
	}
	kinds, write, read := []string{"put", "get", "delete"}, "put", "get"
	switch w.Driver {
	case "redis":
		kinds, write, read = []string{"SET", "GET", "INCR", "DEL"}, "SET", "GET"
	case "sql":
		kinds = append(kinds, "cas", "txn")
	case "etcd":
		kinds = append(kinds, "cas", "range_put", "lease_put", "compact")
	}
	if n == nil {
		for _, kind := range []string{write, read} {
			w.Mix = append(w.Mix, world.Operation{Kind: kind, Weight: 1, KeyPattern: defaultKeyPattern})
		}
		return
	}
	total := 0
	for i, item := range n.list() {
		at := fmt.Sprintf("%s[%d]", key, i)
		o := world.Operation{Kind: valueOr(item.get("type"), ""), Weight: int(valueOr(item.get("weight"), int64(1))),
			KeyPattern: valueOr(item.get("key_pattern"), patternOf(valueOr(item.get("type"), ""))),
			Path:       valueOr(item.get("path"), "")}
		l.valueSize(item.get("value_size"), &o, at)
		if o.Kind == "" {
			l.missing(item, "type", "add `type:`, one of "+strings.Join(kinds, ", "), "%s has no type", at)
			continue
		}
		same := slices.IndexFunc(kinds, func(k string) bool { return strings.EqualFold(k, o.Kind) })
		if same < 0 {
			l.fail(item.get("type").position, suggest(o.Kind, kinds), "%s: driver %s has no operation %s", at, w.Driver, o.Kind)
			continue
		}
		o.Kind = kinds[same]
		l.onlyFor(item, at, "driver", w.Driver, map[string]string{"path": "http"})
		if w.Driver == "http" && o.Path != "" && (!strings.HasPrefix(o.Path, "/") || !strings.Contains(o.Path, "{key}")) {
			l.fail(item.get("path").position, "write a path such as /kv/{key}", "%s.path does not begin with / or has no {key}", at)
		}
		if reason := keyPattern(o.KeyPattern); reason != "" {
			l.fail(item.get("key_pattern").position, "placeholders are {random}, {random:a-b}, {seq}, {seq:a-b}, {zipf:a-b}, {client} and {uuid}",
				"%s.key_pattern: %s", at, reason)
		}
		total += o.Weight
		w.Mix = append(w.Mix, o)
	}
	if len(n.items) == 0 || len(w.Mix) == len(n.items) && total == 0 {
		l.fail(n.position, "give at least one operation a weight above 0", "%s: no operation would ever be done", key)
	}
}

// valueSize reads a size, or the two ends of a range of sizes.
func (l *loader) valueSize(n *node, o *world.Operation, key string) {
	if n == nil || n.bad {
		return
	}
	if n.kind == scalar {
		o.ValueSizeBytes = int(valueOr(n, int64(0)))
		return
	}
	items := n.list()
	if len(items) != 2 || valueOr(items[0], int64(0)) > valueOr(items[1], int64(0)) || valueOr(items[1], int64(1)) == 0 {
		l.fail(n.position, "write `value_size: [a, b]` with a <= b, such as [0, 4097]", "%s.value_size is no range", key)
		return
	}
	o.ValueSizeBytes, o.MaxValueBytes = int(valueOr(items[0], int64(0))), int(valueOr(items[1], int64(0)))
}

// Limits of a dictionary: a driver gets it in its environment.
const (
	maxDictionary      = 1000 // entries
	maxDictionaryBytes = 64 << 10
)

// dictionary reads the special keys and values of a workload.
func (l *loader) dictionary(n *node, w *world.Workload, key string) {
	if n == nil || n.bad {
		return
	}
	w.SpecialPPM = valueOr(n.get("probability"), uint64(50_000))
	if w.Dictionary = slices.Clone(world.Dictionary); valueOr(n.get("only_file"), false) {
		w.Dictionary = nil
	}
	f := n.get("file")
	if f == nil {
		if len(w.Dictionary) == 0 {
			l.fail(n.position, "name a `file:`, or leave `only_file` out", "%s has no special values", key)
		}
		return
	}
	name := l.beside(f.file, f.text)
	text, err := readBounded(l.under(l.spec.Dir, f.text))
	if err != nil {
		l.fail(f.position, "name a file of the project", "%s.file: %v", key, err)
		return
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := world.Special(line); err != nil {
			l.fail(f.position, "correct that line, or take it out", "%s:%d: %v", name, i+1, err)
			return
		}
		w.Dictionary = append(w.Dictionary, line)
	}
	if n := len(strings.Join(w.Dictionary, "\n")); len(w.Dictionary) > maxDictionary || n > maxDictionaryBytes {
		l.fail(f.position, fmt.Sprintf("keep it within %d lines and %d bytes; `\"ab\"*100` makes long texts of short lines", maxDictionary, maxDictionaryBytes),
			"%s has %d lines of %d bytes", key, len(w.Dictionary), n)
	}
	if len(w.Dictionary) == 0 {
		l.fail(f.position, "write a special value into it", "%s: %s has no special values", key, name)
	}
}

// patternOf is the key pattern of an operation without one: transactions keep to keys of their own.
func patternOf(kind string) string {
	if kind == "txn" {
		return "txn-{random:0-4}"
	}
	return defaultKeyPattern
}

const defaultKeyPattern = "key-{random:0-9}"

// keyPattern says what is wrong with a key pattern, or nothing.
func keyPattern(s string) string {
	if s == "" {
		return "it is empty"
	}
	for rest := s; ; {
		_, after, opened := strings.Cut(rest, "{")
		if !opened {
			return ""
		}
		inside, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "a { is not closed"
		}
		name, limits, hasRange := strings.Cut(inside, ":")
		switch name {
		case "random", "seq", "zipf":
		case "client", "uuid":
			if hasRange {
				return fmt.Sprintf("{%s} has no range", name)
			}
		default:
			return fmt.Sprintf("there is no placeholder {%s}", shorten(inside))
		}
		if hasRange {
			from, to, ok := strings.Cut(limits, "-")
			a, err1 := strconv.ParseUint(from, 10, 62)
			b, err2 := strconv.ParseUint(to, 10, 62)
			if !ok || err1 != nil || err2 != nil || a > b {
				return fmt.Sprintf("{%s}: the range must be a-b with 0 <= a <= b", shorten(inside))
			}
		}
		rest = tail
	}
}

// targets reads the URLs of a driver's servers.
func (l *loader) targets(n *node, scheme, key string, w *world.Workload) {
	for _, item := range n.scalars() {
		if u, ok := l.serverURL(item.position, scheme, key, item.text); ok {
			w.Targets = append(w.Targets, u)
		}
	}
}

// databases reads the URLs of databases.
func (l *loader) databases(n *node, key string, w *world.Workload) {
	for _, item := range n.scalars() {
		scheme, _, _ := strings.Cut(strings.TrimSpace(item.text), "://")
		if scheme != "postgres" && scheme != "postgresql" && scheme != "mysql" {
			l.fail(item.position, "write postgres://USER:PASSWORD@NODE:PORT/NAME or mysql://...", "%s: %q is no URL of a database", key, shorten(item.text))
			continue
		}
		if u, ok := l.serverURL(item.position, scheme, key, item.text); ok {
			w.Targets = append(w.Targets, u)
		}
	}
}

// scalars returns the sound scalars of a scalar or a list.
func (n *node) scalars() []*node {
	if n != nil && n.kind == scalar {
		return []*node{n}
	}
	return n.list()
}

// serverURL checks the URL of a node's server. host:port is enough. localhost means the node that publishes the port.
func (l *loader) serverURL(at position, scheme, key, written string) (string, bool) {
	text := strings.TrimSpace(written)
	if !strings.Contains(text, "://") {
		text = scheme + "://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		l.fail(at, fmt.Sprintf("write %s://NODE:PORT", scheme), "%s: %q is not a URL", key, shorten(written))
		return "", false
	}
	if u.Scheme != scheme {
		l.fail(at, fmt.Sprintf("write %s://NODE:PORT", scheme), "%s: %q is not a URL of %s", key, shorten(written), scheme)
		return "", false
	}
	if p := u.Port(); p != "" {
		if number, err := strconv.ParseUint(p, 10, 16); err != nil || number == 0 {
			l.fail(at, "ports are 1 to 65535", "%s: port %s in %q", key, p, shorten(written))
			return "", false
		}
	} else if scheme == "redis" {
		u.Host = net.JoinHostPort(u.Hostname(), "6379")
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && addr.IsLoopback() {
		return l.published(at, key, written, u)
	}
	if err == nil { // an address: of a node or of extra_hosts, which only the world can tell
		return u.String(), true
	}
	if l.resolves(host) {
		return u.String(), true
	}
	l.fail(at, suggest(host, l.nodeNames()), "%s: there is no node %q", key, shorten(host))
	return "", false
}

// resolves tells whether a name is that of a node, alone or with the name of a network behind it.
func (l *loader) resolves(host string) bool {
	short := host
	if i := strings.LastIndexByte(host, '.'); i > 0 && l.network(host[i+1:]) != nil {
		short = host[:i]
	}
	return slices.ContainsFunc(l.nodes, func(d *declared) bool { return d.called(host) || d.called(short) })
}

func (l *loader) published(at position, key, written string, u *url.URL) (string, bool) {
	number := 80
	if p := u.Port(); p != "" {
		number, _ = strconv.Atoi(p)
	}
	for _, d := range l.nodes {
		for _, p := range d.ports {
			if p.published == number {
				u.Host = net.JoinHostPort(d.name, strconv.Itoa(p.target))
				l.note(at, key, "%s is read as %s, which publishes port %d: in a world every node has a localhost of its own", written, u.Host, number)
				return u.String(), true
			}
		}
	}
	l.fail(at, "name a node: "+strings.Join(l.nodeNames(), ", "), "%s: in a world every node has a localhost of its own, and no node publishes port %d", key, number)
	return "", false
}
