package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const sumsName = "SHA256SUMS"

// checksums has the digests of files in a folder, as sha256sum(1) checks them.
func checksums(dir string, names []string) ([]byte, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), name)
	}
	return b.Bytes(), nil
}

// tarGz is a compressed archive of files.
func tarGz(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression) // its header has neither name nor time
	if err != nil {
		return nil, err
	}
	if err := writeTar(z, files, at); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// gzipped is a compressed file.
func gzipped(content []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(content); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeTar writes files in the order of their names, each folder before what is in it. All belong to root and have one time. A
// file whose name ends with a slash is a folder.
func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range withFolders(files) {
		h := tar.Header{Name: f.name, Typeflag: tar.TypeReg, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at,
			Uname: "root", Gname: "root", Format: tar.FormatGNU}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

// withFolders adds the folders that lead to files, and sorts all by name.
func withFolders(files []file) []file {
	list := slices.Clone(files)
	have := map[string]bool{}
	for _, f := range files {
		have[f.name] = true
	}
	for _, f := range files {
		for i, c := range f.name {
			if dir := f.name[:i+1]; c == '/' && !have[dir] {
				have[dir] = true
				list = append(list, file{name: dir, mode: 0o755})
			}
		}
	}
	slices.SortFunc(list, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return list
}
