package config

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/build"
)

// Dockerfiles builds an image, or finds the one that was built before of the same parts.
type Dockerfiles func(r *build.Request) (*image.Image, error)

// dockerShmBytes is the size of /dev/shm where nobody gives one, as Docker has it.
const dockerShmBytes = 64 << 20

// builtImage finds the image of a service with a Dockerfile as pull_policy says
// (https://github.com/compose-spec/compose-spec/blob/main/build.md#using-build-and-image), or builds it. It returns also the image's
// name, and nil after a mistake.
//
// A service that names no image has only its Dockerfile, and what `docker compose build` has made of that, which is taken as it is.
func (l *loader) builtImage(d *declared, own string) (*image.Image, string) {
	service := cmp.Or(d.of, d.name)
	name := cmp.Or(own, l.builtName(d))
	dir := l.dirOf(d, "build")
	policy := valueOr(d.value.get("pull_policy"), "")
	find := func(name, policy string) *image.Image {
		img, err := l.opts.Images(name, dir, policy)
		if err != nil {
			return nil
		}
		l.note(l.placeOf(d, "build"), d.key+".build", "the image %s is there, and its Dockerfile is not read; `pull_policy: build` builds it here", name)
		return img
	}
	if policy != "build" {
		if img := find("docker-daemon:"+name, ""); img != nil {
			return img, name
		}
		if own == "" {
			policy = "never"
		}
		if img := find(name, policy); img != nil {
			return img, name
		}
	}
	img, err := l.buildImage(d, name)
	if err == nil {
		return img, name
	}
	if policy == "build" {
		if img, e := l.opts.Images("docker-daemon:"+name, dir, ""); e == nil {
			l.note(l.placeOf(d, "build"), d.key+".build", "the image that the daemon has is taken, since the Dockerfile cannot be built here: %v", err)
			return img, name
		}
	}
	l.fail(l.placeOf(d, "build"), fmt.Sprintf("mend it; or run `docker compose build %s` where Docker is, `docker save -o %s.tar %s`, and in bloodhound.yaml "+
		"`nodes: {%s: {image: \"docker-archive:%s.tar\"}}`; or `{root: host, build: ..., entrypoint: ...}` to build and run the program on this machine's files",
		service, service, name, service, service), "node %s: the image %s is not here, and cannot be built: %v", d.name, name, err)
	return nil, name
}

// buildImage builds the image of a service.
func (l *loader) buildImage(d *declared, name string) (*image.Image, error) {
	if l.opts.Dockerfiles == nil {
		return nil, fmt.Errorf("nothing is built here")
	}
	if slices.Contains(l.building, d.name) {
		return nil, fmt.Errorf("it needs itself: %s", strings.Join(append(l.building, d.name), " -> "))
	}
	l.building = append(l.building, d.name)
	defer func() { l.building = l.building[:len(l.building)-1] }()
	r, err := l.buildRequest(d, name)
	if err != nil {
		return nil, err
	}
	return l.opts.Dockerfiles(r)
}

func (l *loader) buildRequest(d *declared, name string) (*build.Request, error) {
	b := d.value.get("build")
	at := b.file.dir
	text := func(key string) string { return valueOr(b.get(key), "") }
	r := &build.Request{Name: name, Context: at, Inline: text("dockerfile_inline"), Dockerfile: text("dockerfile"), Target: text("target"),
		Args: l.pairs(b.get("args")), Labels: l.pairs(b.get("labels")), ShmBytes: valueOr(b.get("shm_size"), int64(dockerShmBytes)),
		NoCache: valueOr(b.get("no_cache"), false), Pull: valueOr(b.get("pull"), false), Uncached: b.get("no_cache_filter").words()}
	if c := text("context"); strings.Contains(c, "://") {
		r.Context = c
	} else if c != "" {
		r.Context = l.under(at, c)
	}
	var err error
	if r.Contexts, err = l.contexts(d, b.get("additional_contexts")); err != nil {
		return nil, err
	}
	if r.Secrets, err = l.buildSecrets(b.get("secrets")); err != nil {
		return nil, err
	}
	r.ExtraHosts, err = buildHosts(b.get("extra_hosts"))
	return r, err
}

// pairs are variables as a map; those without a value that the environment does not have are left out.
func (l *loader) pairs(n *node) map[string]string {
	m := map[string]string{}
	if n == nil {
		return m
	}
	for _, line := range settle(valueOr(n, []variable(nil)), n.file.lookup) {
		k, v, _ := strings.Cut(line, "=")
		m[k] = v
	}
	return m
}

// contexts are the additional contexts of a build.
func (l *loader) contexts(d *declared, n *node) (map[string]build.Source, error) {
	all := map[string]build.Source{}
	for name, value := range l.pairs(n) {
		dir := n.file.dir
		from := func(image string) build.Source { return build.Source{Image: l.imageNamed(image, dir)} }
		scheme, rest, ok := strings.Cut(value, "://")
		service, isService := strings.CutPrefix(value, "service:")
		switch {
		case isService:
			services := slices.Concat(l.nodes, l.left)
			i := slices.IndexFunc(services, func(o *declared) bool { return cmp.Or(o.of, o.name) == service })
			if i < 0 {
				return nil, fmt.Errorf("build.additional_contexts: there is no service %q", service)
			}
			other := services[i]
			all[name] = build.Source{Image: func(context.Context) (*image.Image, error) { return l.imageFor(other) }}
		case ok && scheme == "docker-image":
			all[name] = from(rest)
		case ok && scheme == "oci-layout":
			all[name] = from("oci:" + l.under(dir, rest))
		case ok || strings.HasPrefix(value, "git@"):
			return nil, fmt.Errorf("build.additional_contexts: %s is not on this machine; fetch it, and name the folder", value)
		default:
			all[name] = build.Source{Dir: l.under(dir, value)}
		}
	}
	return all, nil
}

func (l *loader) imageNamed(name, dir string) func(context.Context) (*image.Image, error) {
	return func(context.Context) (*image.Image, error) { return l.opts.Images(name, dir, "") }
}

// imageFor is the image of another service, which is built if need be.
func (l *loader) imageFor(d *declared) (*image.Image, error) {
	name := valueOr(d.value.get("image"), "")
	if fromDockerfile(d.value.get("build")) {
		return l.buildImage(d, cmp.Or(name, l.builtName(d)))
	}
	if name == "" {
		return nil, fmt.Errorf("the service %s has no image", d.name)
	}
	return l.opts.Images(name, l.dirOf(d, "image"), valueOr(d.value.get("pull_policy"), ""))
}

// buildSecrets are the secrets of the Compose file that a build names.
func (l *loader) buildSecrets(n *node) (map[string]build.Secret, error) {
	all := map[string]build.Secret{}
	for _, item := range n.list() {
		source, id := item.text, item.text
		if item.kind == mapping {
			source = valueOr(item.get("source"), "")
			id = cmp.Or(valueOr(item.get("target"), ""), source)
		}
		made := l.composed.get("secrets").get(source)
		switch file := made.get("file"); {
		case made == nil:
			return nil, fmt.Errorf("build.secrets: the Compose file has no secret %q", source)
		case file != nil:
			all[id] = build.Secret{File: l.under(file.file.dir, file.text)}
		case made.has(secretValue):
			all[id] = build.Secret{Value: []byte(made.entry(secretValue).value.text)}
		default:
			return nil, fmt.Errorf("build.secrets: %q has no value here; give it `file:`, or set its variable", source)
		}
	}
	return all, nil
}

// buildHosts are lines NAME=IP.
func buildHosts(n *node) ([]build.Host, error) {
	var hosts []build.Host
	add := func(name, ip string) error {
		addr, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(ip), "[]"))
		if err != nil {
			return fmt.Errorf("build.extra_hosts: %q is no address", ip)
		}
		hosts = append(hosts, build.Host{Name: strings.TrimSpace(name), IP: addr.String()})
		return nil
	}
	for _, item := range n.list() {
		name, ip, ok := strings.Cut(item.text, "=")
		if !ok {
			name, ip, _ = strings.Cut(item.text, ":")
		}
		if err := add(name, ip); err != nil {
			return nil, err
		}
	}
	for _, e := range n.entriesOf() {
		for _, ip := range e.value.words() {
			if err := add(e.name, ip); err != nil {
				return nil, err
			}
		}
	}
	return hosts, nil
}
