package container

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// repository names the images that this engine has a daemon make, and imageLabel is on them. They stay there, for other runs. Podman looks
// for a name without a registry in registries.
const (
	repository = "localhost/bloodhound"
	imageLabel = "org.bloodhound.image"
)

// images has the daemon have the image of each node.
func (w *World) images() (err error) {
	if w.keeperImage, err = w.rootImage("/"); err != nil {
		return err
	}
	if w.needsLibraries() {
		for _, dir := range []string{"/lib", "/lib64", "/usr/lib"} {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				w.libraries = append(w.libraries, docker.Mount{Type: "bind", Source: dir, Target: dir, ReadOnly: true})
			}
		}
	}
	for _, n := range w.nodes {
		switch {
		case n.spec.Image != nil:
			n.base, err = w.nodeImage(n.spec.Image)
		case n.spec.HasMachineFiles():
			n.base = w.keeperImage
		case n.spec.Root == world.NoRoot:
			n.base = w.keeperImage
		default:
			n.base, err = w.rootImage(n.spec.Root)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", n.spec.Name, err)
		}
	}
	return nil
}

// needsLibraries reports whether this program was built to have libraries of the machine.
func (w *World) needsLibraries() bool {
	f, err := elf.Open(w.options.Driver)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// has reports whether the daemon has an image, and its identity.
func (w *World) has(name string) (id string, err error) {
	var found struct {
		ID string `json:"Id"`
	}
	err = w.client.Call(w.ctx, http.MethodGet, "/images/"+name+"/json", nil, nil, &found)
	if docker.Missing(err) {
		return "", nil
	}
	return found.ID, err
}

// nodeImage is the daemon's own image, if it is the one that the Spec means, or one that is made of the image store.
func (w *World) nodeImage(i *world.Image) (string, error) {
	for _, name := range []string{i.ID, i.Name} {
		id, err := w.has(name)
		if err == nil && id == i.ID {
			return id, nil
		}
	}
	if w.options.Images == nil {
		return "", fmt.Errorf("the daemon does not have the image %s, and there is no image store to copy it "+
			"from; run `docker pull %s`", i.Name, i.Name)
	}
	root, err := w.options.Images.Root(context.Background(), i.ID)
	if err != nil {
		return "", fmt.Errorf("image %s: %w; `bloodhound image pull %s` gets it", i.Name, err, i.Name)
	}
	return w.load(strings.TrimPrefix(i.ID, "sha256:"), root.WriteArchive)
}

// load has the daemon make an image of files, unless it has that tag already.
func (w *World) load(tag string, write func(io.Writer) error) (string, error) {
	name := repository + ":" + tag
	if id, err := w.has(name); err != nil || id != "" {
		return name, err
	}
	r, pipe := io.Pipe()
	go func() { pipe.CloseWithError(write(pipe)) }()
	defer r.Close()
	var made struct{ Status string } // the identity of the image
	err := w.client.Call(w.ctx, http.MethodPost, "/images/create", url.Values{"fromSrc": {"-"}, "changes": {"LABEL " + imageLabel + "=1"}}, io.Reader(r), &made)
	if err == nil { // Podman does not follow a tag of the first call
		err = w.client.Call(w.ctx, http.MethodPost, "/images/"+made.Status+"/tag", url.Values{"repo": {repository}, "tag": {tag}}, nil, nil)
	}
	if err != nil {
		return "", fmt.Errorf("the daemon cannot create an image: %w", err)
	}
	return name, nil
}

// rootImage has the links of a root, and folders to mount at.
func (w *World) rootImage(root string) (string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	add := func(h *tar.Header) {
		if err == nil {
			err = out.WriteHeader(h)
		}
	}
	for _, dir := range []struct {
		name string
		mode int64
	}{{"tmp/", 0o1777}, {"run/", 0o755}, {"var/", 0o755}, {"var/tmp/", 0o1777}, {"etc/", 0o755}} {
		add(&tar.Header{Typeflag: tar.TypeDir, Name: dir.name, Mode: dir.mode})
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(filepath.Join(root, e.Name()))
		if err != nil {
			return "", err
		}
		add(&tar.Header{Typeflag: tar.TypeSymlink, Name: e.Name(), Linkname: target, Mode: 0o777})
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return w.load("root-"+hex.EncodeToString(sum[:8]), func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
}

// credentials are the user and the further groups of programs. The daemon looks names up in the image, which knows no names of the machine.
func (n *node) credentials(as *world.Node) (string, []string, error) {
	if as.Image != nil || as.User == "" && len(as.Groups) == 0 {
		return as.User, as.Groups, nil
	}
	name, group, grouped := strings.Cut(as.User, ":")
	if name == "" {
		name = "0"
	}
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		u = &user.User{Uid: name, Gid: name}
		if strings.Trim(name, "0123456789") != "" {
			return "", nil, fmt.Errorf("user %s: %w", name, err)
		}
	}
	id := func(name string) (string, error) {
		if g, err := user.LookupGroup(name); err == nil {
			return g.Gid, nil
		} else if strings.Trim(name, "0123456789") != "" {
			return "", err
		}
		return name, nil
	}
	gid := u.Gid
	if grouped {
		if gid, err = id(group); err != nil {
			return "", nil, err
		}
	}
	var groups []string
	for _, g := range as.Groups {
		text, err := id(g)
		if err != nil {
			return "", nil, err
		}
		groups = append(groups, text)
	}
	return u.Uid + ":" + gid, groups, nil
}
