package images

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/compose"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/build"
)

// dockerShmBytes is the size of /dev/shm where none is given, as Docker has it.
const dockerShmBytes = 64 << 20

// builtImage finds the image of a service with a Dockerfile as pull_policy says
// (https://github.com/compose-spec/compose-spec/blob/main/build.md#using-build-and-image), or builds it. It returns also the image's
// name, and nil after a mistake.
//
// A service that names no image has only its Dockerfile, and what `docker compose build` has made of that, which is taken as it is.
func builtImage(l *load.State, d *load.Node, own string) (*image.Image, string) {
	service := l.ServiceOf(d)
	name := cmp.Or(own, builtName(l, d))
	dir := l.DirOf(d, "build")
	policy := source.ValueOr(d.Value.Get("pull_policy"), "")
	find := func(name, policy string) *image.Image {
		img, err := l.Images(name, dir, policy)
		if err != nil {
			return nil
		}
		l.Note(l.PlaceOf(d, "build"), d.Key+".build", "the image %s exists, so its Dockerfile is not read; `pull_policy: build` builds it", name)
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
	img, err := buildImage(l, d, name)
	if err == nil {
		return img, name
	}
	if policy == "build" {
		if img, e := l.Images("docker-daemon:"+name, dir, ""); e == nil {
			l.Note(l.PlaceOf(d, "build"), d.Key+".build", "the Docker daemon's image is used, since the Dockerfile cannot be built: %v", err)
			return img, name
		}
	}
	l.Fail(l.PlaceOf(d, "build"), fmt.Sprintf("correct it; or run `docker compose build %s` and `docker save -o %s.tar %s` on a "+
		"machine with Docker, and write in bloodhound.yaml "+
		"`nodes: {%s: {image: \"docker-archive:%s.tar\"}}`; or write `{root: host, build: ..., entrypoint: ...}` to build and run "+
		"the program with the host's files",
		service, service, name, service, service), "node %s: the image %s does not exist, and cannot be built: %v", d.Name, name, err)
	return nil, name
}

// buildImage builds the image of a service.
func buildImage(l *load.State, d *load.Node, name string) (*image.Image, error) {
	if l.Dockerfiles == nil {
		return nil, fmt.Errorf("this command does not build images")
	}
	if slices.Contains(l.Building, d.Name) {
		return nil, fmt.Errorf("it depends on itself: %s", strings.Join(append(l.Building, d.Name), " -> "))
	}
	l.Building = append(l.Building, d.Name)
	defer func() { l.Building = l.Building[:len(l.Building)-1] }()
	r, err := buildRequest(l, d, name)
	if err != nil {
		return nil, err
	}
	return l.Dockerfiles(r)
}

func buildRequest(l *load.State, d *load.Node, name string) (*build.Request, error) {
	b := d.Value.Get("build")
	at := b.File.Dir
	text := func(key string) string { return source.ValueOr(b.Get(key), "") }
	r := &build.Request{Name: name, Context: at, Inline: text("dockerfile_inline"), Dockerfile: text("dockerfile"), Target: text("target"),
		Args: pairs(b.Get("args")), Labels: pairs(b.Get("labels")), ShmBytes: source.ValueOr(b.Get("shm_size"), int64(dockerShmBytes)),
		NoCache: source.ValueOr(b.Get("no_cache"), false), Pull: source.ValueOr(b.Get("pull"), false), Uncached: b.Get("no_cache_filter").Words()}
	if c := text("context"); strings.Contains(c, "://") {
		r.Context = c
	} else if c != "" {
		r.Context = l.Under(at, c)
	}
	var err error
	if r.Contexts, err = contexts(l, b.Get("additional_contexts")); err != nil {
		return nil, err
	}
	if r.Secrets, err = buildSecrets(l, b.Get("secrets")); err != nil {
		return nil, err
	}
	r.ExtraHosts, err = buildHosts(b.Get("extra_hosts"))
	return r, err
}

// pairs are variables as a map; those without a value that the environment does not have are left out.
func pairs(n *source.Node) map[string]string {
	m := map[string]string{}
	if n == nil {
		return m
	}
	for _, line := range source.Environment(source.ValueOr(n, []source.Variable(nil)), n.File.Lookup) {
		k, v, _ := strings.Cut(line, "=")
		m[k] = v
	}
	return m
}

// contexts are the additional contexts of a build.
func contexts(l *load.State, n *source.Node) (map[string]build.Source, error) {
	all := map[string]build.Source{}
	for name, value := range pairs(n) {
		dir := n.File.Dir
		from := func(image string) build.Source { return build.Source{Image: imageNamed(l, image, dir)} }
		scheme, rest, ok := strings.Cut(value, "://")
		service, isService := strings.CutPrefix(value, "service:")
		switch {
		case isService:
			services := slices.Concat(l.Nodes, l.LeftOut)
			i := slices.IndexFunc(services, func(o *load.Node) bool { return l.ServiceOf(o) == service })
			if i < 0 {
				return nil, fmt.Errorf("build.additional_contexts: unknown service %q", service)
			}
			other := services[i]
			all[name] = build.Source{Image: func(context.Context) (*image.Image, error) { return imageFor(l, other) }}
		case ok && scheme == "docker-image":
			all[name] = from(rest)
		case ok && scheme == "oci-layout":
			all[name] = from("oci:" + l.Under(dir, rest))
		case ok || strings.HasPrefix(value, "git@"):
			return nil, fmt.Errorf("build.additional_contexts: %s is not local; download it, and write the path of the folder", value)
		default:
			all[name] = build.Source{Dir: l.Under(dir, value)}
		}
	}
	return all, nil
}

func imageNamed(l *load.State, name, dir string) func(context.Context) (*image.Image, error) {
	return func(context.Context) (*image.Image, error) { return l.Images(name, dir, "") }
}

// imageFor is the image of another service, which is built if need be.
func imageFor(l *load.State, d *load.Node) (*image.Image, error) {
	name := source.ValueOr(d.Value.Get("image"), "")
	if FromDockerfile(d.Value.Get("build")) {
		return buildImage(l, d, cmp.Or(name, builtName(l, d)))
	}
	if name == "" {
		return nil, fmt.Errorf("the service %s has no image", d.Name)
	}
	return l.Images(name, l.DirOf(d, "image"), source.ValueOr(d.Value.Get("pull_policy"), ""))
}

// buildSecrets are the secrets of the Compose file that a build names.
func buildSecrets(l *load.State, n *source.Node) (map[string]build.Secret, error) {
	all := map[string]build.Secret{}
	for _, item := range n.List() {
		name, id := item.Text, item.Text
		if item.Kind == source.Mapping {
			name = source.ValueOr(item.Get("source"), "")
			id = cmp.Or(source.ValueOr(item.Get("target"), ""), name)
		}
		made := l.Composed.Get("secrets").Get(name)
		switch file := made.Get("file"); {
		case made == nil:
			return nil, fmt.Errorf("build.secrets: unknown secret %q", name)
		case file != nil:
			all[id] = build.Secret{File: l.Under(file.File.Dir, file.Text)}
		case made.Has(compose.SecretValue):
			all[id] = build.Secret{Value: []byte(made.Entry(compose.SecretValue).Value.Text)}
		default:
			return nil, fmt.Errorf("build.secrets: %q has no value; set `file:`, or its variable", name)
		}
	}
	return all, nil
}

// buildHosts are lines NAME=IP.
func buildHosts(n *source.Node) ([]build.Host, error) {
	var hosts []build.Host
	add := func(name, ip string) error {
		addr, err := netip.ParseAddr(strings.Trim(strings.TrimSpace(ip), "[]"))
		if err != nil {
			return fmt.Errorf("build.extra_hosts: %q is not an IP address", ip)
		}
		hosts = append(hosts, build.Host{Name: strings.TrimSpace(name), IP: addr.String()})
		return nil
	}
	for _, item := range n.List() {
		name, ip, ok := strings.Cut(item.Text, "=")
		if !ok {
			name, ip, _ = strings.Cut(item.Text, ":")
		}
		if err := add(name, ip); err != nil {
			return nil, err
		}
	}
	for _, e := range n.EntriesOf() {
		for _, ip := range e.Value.Words() {
			if err := add(e.Name, ip); err != nil {
				return nil, err
			}
		}
	}
	return hosts, nil
}
