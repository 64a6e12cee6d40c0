package config

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Images finds the image that a node asks for by a name; relative paths in names start at dir. policy is Compose's
// pull_policy, or empty.
type Images func(name, dir, policy string) (*image.Image, error)

// imageOf finds the image that a node's files come from, nil if they are the host's or a folder's. It returns false if there
// should be one and is not.
func (l *loader) imageOf(d *declared) bool {
	name := valueOr(d.value.get("image"), "")
	built := fromDockerfile(d.value.get("build"))
	if name == "" && !built || d.value.has("root") {
		for _, key := range []string{"image", "build", "pull_policy"} {
			if e := d.value.entry(key); key == "build" && !built || e != nil && e.key.file.compose {
				continue // of a Compose file: root takes its place on purpose
			}
			if d.value.has(key) {
				l.idle(l.placeOf(d, key), d.key+"."+key, "the node has a root of its own, or no image")
			}
		}
		return true
	}
	if l.opts.Describe {
		if name == "" {
			name = l.builtName(d)
		} else if _, err := image.Parse(name, l.dirOf(d, "image")); err != nil {
			l.fail(l.placeOf(d, "image"), "write a name as registries have it, such as redis:7", "node %s: %v", d.name, err)
			return false
		}
		d.image, d.spec.Image = &image.Image{Tree: image.NewTree()}, &world.Image{Name: name}
		return true
	}
	if l.opts.Images == nil {
		l.fail(l.placeOf(d, "image"), "write `root: host` to run programs of this machine instead", "node %s needs its image, and there is no store of images", d.name)
		return false
	}
	var img *image.Image
	var err error
	if built {
		if img, name = l.builtImage(d, name); img == nil {
			return false
		}
	} else if img, err = l.opts.Images(name, l.dirOf(d, "image"), valueOr(d.value.get("pull_policy"), "")); err != nil {
		l.fail(l.placeOf(d, "image"), "name one that can be had, or write `root: host` and a `command:` to run a program of this machine instead", "node %s: %v", d.name, err)
		return false
	}
	d.image = img
	d.spec.Image = &world.Image{Name: name, ID: img.ID}
	return true
}

// leavesHealth tells whether a node leaves its healthcheck to an image that nobody looks at, or that could not be had.
func (l *loader) leavesHealth(d *declared) bool {
	own := d.value.get("healthcheck")
	hasImage := (d.value.has("image") || fromDockerfile(d.value.get("build"))) && !d.value.has("root")
	return hasImage && (l.opts.Describe || d.image == nil) && own.get("test") == nil && !valueOr(own.get("disable"), false)
}

// fromDockerfile tells whether a build key is Compose's.
func fromDockerfile(build *node) bool {
	return build.get("context") != nil || build.get("dockerfile_inline") != nil
}

// builtName is what Compose calls the image of a service with a Dockerfile that names none.
func (l *loader) builtName(d *declared) string {
	return valueOr(l.composed.get("name"), "") + "-" + cmp.Or(d.of, d.name)
}

// imageCommand is what a node runs: its own entrypoint puts the image's command out of force, its own command does not touch
// the image's entrypoint.
func (l *loader) imageCommand(d *declared) []string {
	c := &d.image.Config.Config
	entrypoint, command := c.Entrypoint, c.Cmd
	if e := d.value.get("entrypoint"); e != nil {
		entrypoint, command = l.argv(e, d.key+".entrypoint"), nil
	}
	if e := d.value.get("command"); e != nil {
		command = l.argv(e, d.key+".command")
	}
	return slices.Concat(entrypoint, command)
}

// HomeOf is the folder of a user in the image's /etc/passwd, / if it is not there.
func HomeOf(img *image.Image, user string) string {
	name, _, _ := strings.Cut(user, ":")
	if name == "" {
		name = "root"
	}
	users, _ := img.ReadFile("etc/passwd") // without one, as with one that does not name the user
	for line := range strings.Lines(string(users)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) >= 6 && (f[0] == name || f[2] == name) && path.IsAbs(f[5]) {
			return f[5]
		}
	}
	if name == "root" || name == "0" {
		return "/root"
	}
	return "/"
}

// imageHealth is an image's own healthcheck, nil if it has none.
func imageHealth(img *image.Image) *world.Healthcheck {
	c := img.Config.Config.Healthcheck
	if c == nil || healthCommand(c.Test) == nil {
		return nil
	}
	return &world.Healthcheck{Command: healthCommand(c.Test), IntervalNs: cmp.Or(int64(c.Interval), usualHealth.IntervalNs),
		TimeoutNs: cmp.Or(int64(c.Timeout), usualHealth.TimeoutNs), StartPeriodNs: int64(c.StartPeriod),
		StartIntervalNs: usualHealth.StartIntervalNs, Retries: cmp.Or(c.Retries, usualHealth.Retries)}
}

// imageVolumes are the folders that an image wants to be volumes. They begin with what the image has there.
func (l *loader) imageVolumes(d *declared) {
	var targets []string
	for target := range d.image.Config.Config.Volumes {
		if path.IsAbs(target) && path.Clean(target) != "/" {
			targets = append(targets, path.Clean(target))
		}
	}
	slices.Sort(targets)
	for _, target := range targets {
		if !slices.ContainsFunc(d.spec.Volumes, func(v world.Volume) bool { return v.Target == target }) {
			d.spec.Volumes = append(d.spec.Volumes, world.Volume{Kind: world.Named, Source: d.name + ":" + target, Target: target})
		}
	}
}
