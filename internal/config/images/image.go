// Package images finds the images of nodes, or has them built from Dockerfiles.
package images

import (
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/image"
	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// FindImage finds the image that a node's files come from, nil if they are the host's or a folder's. It returns false if there
// should be one and is not.
func FindImage(l *load.State, d *load.Node) bool {
	name := source.ValueOr(d.Value.Get("image"), "")
	built := FromDockerfile(d.Value.Get("build"))
	if name == "" && !built || d.Value.Has("root") {
		for _, key := range []string{"image", "build", "pull_policy"} {
			if e := d.Value.Entry(key); key == "build" && !built || e != nil && e.Key.File.Compose {
				continue // of a Compose file: root takes its place on purpose
			}
			if d.Value.Has(key) {
				l.Idle(l.PlaceOf(d, key), d.Key+"."+key, "the node has `root`, or no image")
			}
		}
		return true
	}
	if l.Describe {
		if name == "" {
			name = builtName(l, d)
		} else if _, err := image.Parse(name, l.DirOf(d, "image")); err != nil {
			l.Fail(l.PlaceOf(d, "image"), "write the name of an image in a registry, such as redis:7", "node %s: %v", d.Name, err)
			return false
		}
		d.Image, d.Spec.Image = &image.Image{Root: rootfs.Root{Tree: rootfs.NewTree()}}, &world.Image{Name: name}
		return true
	}
	if l.Images == nil {
		l.Fail(l.PlaceOf(d, "image"), "write `root: host` to run programs of the host instead", "node %s needs an image, and there is no image store", d.Name)
		return false
	}
	var img *image.Image
	var err error
	if built {
		if img, name = builtImage(l, d, name); img == nil {
			return false
		}
	} else if img, err = l.Images(name, l.DirOf(d, "image"), source.ValueOr(d.Value.Get("pull_policy"), "")); err != nil {
		l.Fail(l.PlaceOf(d, "image"), "use an image that is available, or write `root: host` and a `command:` to run a program of the host instead",
			"node %s: %v", d.Name, err)
		return false
	}
	d.Image = img
	d.Spec.Image = &world.Image{Name: name, ID: img.ID}
	return true
}

// FromDockerfile reports whether a build key is Compose's.
func FromDockerfile(build *source.Node) bool {
	return build.Get("context") != nil || build.Get("dockerfile_inline") != nil
}

// builtName returns Compose's name for the image of a service with a Dockerfile that names none: PROJECT-SERVICE.
func builtName(l *load.State, d *load.Node) string {
	return source.ValueOr(l.Composed.Get("name"), "") + "-" + l.ServiceOf(d)
}

// Command returns the arguments that a node starts with. Its own entrypoint also replaces the image's command; its own
// command keeps the image's entrypoint.
func Command(l *load.State, d *load.Node) []string {
	c := &d.Image.Config.Config
	entrypoint, command := c.Entrypoint, c.Cmd
	if e := d.Value.Get("entrypoint"); e != nil {
		entrypoint, command = l.Argv(e, d.Key+".entrypoint"), nil
	}
	if e := d.Value.Get("command"); e != nil {
		command = l.Argv(e, d.Key+".command")
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
