package main

import (
	"bytes"
	"encoding/pem"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const imageUser = "1000:1000"

// image is a container image in the form of `docker save`. It has the programs, the certificates by which it trusts registries and stores, and folders to
// work in.
func image(src *source, t target, c *content) ([]byte, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var b bytes.Buffer
		err := writeTar(&b, imageFiles(c), src.time)
		return io.NopCloser(&b), err
	})
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: src.time}, CreatedBy: "go run ./release"}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.os, t.arch, v1.Time{Time: src.time}
	config.Config = v1.Config{
		User:       imageUser,
		WorkingDir: "/srv",
		Entrypoint: []string{"/usr/bin/bloodhound"},
		Cmd:        []string{"doctor"},
		Env:        []string{"PATH=/usr/bin:/bin", "HOME=/home/bloodhound"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "Bloodhound",
			"org.opencontainers.image.version":  src.version,
			"org.opencontainers.image.revision": src.commit,
			"org.opencontainers.image.source":   "https://" + modulePath,
			"org.opencontainers.image.licenses": "MIT",
		},
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	tag, err := name.NewTag("bloodhound:" + src.version)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := tarball.Write(tag, img, &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// imageFiles are the files of the image.
func imageFiles(c *content) []file {
	return append(under("usr/bin", c.programs()), []file{
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\nbloodhound:x:1000:1000::/home/bloodhound:/sbin/nologin\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nbloodhound:x:1000:\n")},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
		{"tmp/", 0o1777, nil},
		{"srv/", 0o1777, nil},
		{"home/bloodhound/", 0o1777, nil},
	}...)
}

// authorities are those that Mozilla trusts without conditions, in PEM.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}
