package build

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/image/rootfs"
	"github.com/klauspost/compress/zstd"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/ulikunitz/xz"
)

func (s *steps) add(c *instructions.AddCommand) error {
	cp, err := s.copying(c.SourcesAndDest, c.Link, c.Chown, c.Chmod, c.ExcludePatterns)
	if err != nil {
		return err
	}
	inputs := []string{"ADD", text(c.ExcludePatterns)}
	for _, p := range c.SourcePaths {
		if isGit(p) {
			return &Error{Text: fmt.Sprintf("%s is a repository, which a build cannot fetch", p), Remedy: "clone it into the context, and COPY it"}
		}
		it := item{unpack: c.Unpack == nil || *c.Unpack}
		if isURL(p) {
			if c.Checksum == "" {
				return &Error{Text: fmt.Sprintf("the contents of %s may change", p),
					Remedy: "add --checksum=sha256:... to ADD, or download the file into the context"}
			}
			it.unpack = c.Unpack != nil && *c.Unpack
			inputs = append(inputs, p, c.Checksum, fmt.Sprint(it.unpack))
			if !s.do {
				continue
			}
			if it.files, err = s.download(p, c.Checksum); err != nil {
				return err
			}
			it.paths = it.files.tree.Names("")
			cp.items = append(cp.items, it)
			continue
		}
		f, err := s.sources("")
		if err != nil {
			return err
		}
		found, err := cp.find(f, p)
		if err != nil {
			return err
		}
		found.unpack = it.unpack
		cp.items = append(cp.items, found)
		if inputs, err = cp.digests(inputs, &found, p); err != nil {
			return err
		}
	}
	return s.copies(c, cp, &c.SourcesAndDest, inputs)
}

func isURL(p string) bool { return strings.HasPrefix(p, "http://") || strings.HasPrefix(p, "https://") }

func isGit(p string) bool {
	u, _, _ := strings.Cut(p, "#")
	return strings.HasPrefix(p, "git@") || strings.HasPrefix(p, "git://") || strings.HasPrefix(p, "ssh://") || isURL(p) && strings.HasSuffix(u, ".git")
}

// Bounds of a download.
const (
	maxDownloadBytes = 16 << 30
	downloadPatience = 10 * time.Minute
)

// download fetches a file whose digest is known.
func (s *steps) download(from, checksum string) (*files, error) {
	want, ok := strings.CutPrefix(checksum, "sha256:")
	if raw, err := hex.DecodeString(want); !ok || err != nil || len(raw) != sha256.Size || strings.ToLower(want) != want {
		return nil, &Error{Text: fmt.Sprintf("--checksum=%s is not a valid checksum", checksum),
			Remedy: "write sha256: and 64 lower-case hexadecimal digits"}
	}
	u, err := url.Parse(from)
	if err != nil {
		return nil, err
	}
	name := path.Base(u.Path)
	if name == "." || name == "/" {
		name = "__unnamed__"
	}
	if st, err := os.Stat(s.Store.File(want)); err == nil {
		return s.single(name, want, st.Size()), nil
	}
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	answer, err := (&http.Client{Timeout: downloadPatience}).Do(req)
	if err != nil {
		return nil, &Error{Text: err.Error(), Remedy: "download the file into the context, and COPY it"}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, &Error{Text: fmt.Sprintf("%s: %s", from, answer.Status)}
	}
	got, n, err := s.Store.Keep(io.LimitReader(answer.Body, maxDownloadBytes))
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, &Error{Text: fmt.Sprintf("%s has the digest sha256:%s, not %s", from, got, checksum),
			Remedy: "find out what changed before you trust it"}
	}
	return s.single(name, got, n), nil
}

// single is one file of the store.
func (s *steps) single(name, digest string, size int64) *files {
	l := &rootfs.Layer{Entries: []rootfs.Entry{{Path: name, Kind: rootfs.File, Mode: 0o600, Size: size, Digest: digest, MtimeNs: epoch}}}
	return &files{tree: rootfs.NewTree(l), digest: func(e *rootfs.Entry) (string, error) { return e.Digest, nil },
		open: func(e *rootfs.Entry) (io.ReadCloser, error) { return os.Open(s.Store.File(e.Digest)) }}
}

// unpack copies what is in an archive of tar into the destination; false is that the file is none.
func (cp *copying) unpack(l *layer, f *files, e *rootfs.Entry, o owner) (bool, error) {
	if e.Kind != rootfs.File || e.Size == 0 {
		return false, nil
	}
	r, err := f.open(e)
	if err != nil {
		return false, err
	}
	defer r.Close()
	in := &counted{r: r}
	plain, err := decompress(bufio.NewReader(in))
	if err != nil {
		return false, nil // it begins like a compressed file, and is none
	}
	b := bufio.NewReaderSize(plain, tarBlock)
	if head, _ := b.Peek(tarBlock); !isTar(head) {
		return false, nil
	}
	unpacked, err := l.Store.Unpack(l.ctx, b, func() int64 { return in.n })
	if err != nil {
		return true, &Error{Text: fmt.Sprintf("%s: %v", e.Path, err), Remedy: "use COPY, which does not unpack archives"}
	}
	to, err := l.folder(cp.dest, o)
	if err != nil {
		return true, err
	}
	inside, err := l.filesOf(&state{tree: rootfs.NewTree(unpacked)})
	if err != nil {
		return true, err
	}
	return true, cp.tree(l, inside, "", to, o)
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// tarBlock is the size of a header (tar(5)).
const tarBlock = 512

// isTar recognizes a header by its magic, or, of the oldest archives, by its checksum.
func isTar(b []byte) bool {
	if len(b) < tarBlock {
		return false
	}
	if string(b[257:262]) == "ustar" {
		return true
	}
	sum := 0
	for i, c := range b {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int(c)
	}
	var want int
	_, err := fmt.Sscanf(strings.Trim(string(b[148:156]), " \x00"), "%o", &want)
	return err == nil && want == sum && b[0] != 0
}

// decompress looks at the first bytes: gzip, bzip2, xz, zstd, or none.
func decompress(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(r), nil
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return xz.NewReader(r)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return r, nil
}
