// Package driverfile finds the file of the driver program (package driver) that engines start inside worlds.
package driverfile

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/bloodhound-dst/bloodhound/internal/ownfolder"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

const (
	// Variable names the environment variable that names the file of another driver program, such as one of an earlier build.
	Variable = "BLOODHOUND_DRIVER_FILE"
	// FileName names the program where it is a file of its own.
	FileName = "bloodhound-driver"
	// tag is the build tag that embeds the archive at archivePath, which begins at the root of the module.
	tag         = "embed_driver"
	archivePath = "internal/driver/driverfile/bloodhound-driver.pack"

	module = "github.com/bloodhound-dst/bloodhound"
	// maxBytes bounds the program that an embedded archive unpacks to.
	maxBytes = 256 << 20
)

// Find returns the path of the driver program. In this order, it is
//
//  1. the file that Variable names,
//  2. the program that is embedded in this one, as `make build` and releases do it, unpacked in the user's cache folder,
//  3. bloodhound-driver beside this program, as `go install MODULE/cmd/...` does it,
//  4. this program itself, which plays the driver too. Its runs differ from runs with the others.
var Find = sync.OnceValues(find)

func find() (string, error) {
	if path := os.Getenv(Variable); path != "" {
		return named(Variable, path)
	}
	if len(embedded) > 0 {
		return unpack(embedded, folders())
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find this program's own file, which also runs inside worlds: %w", err)
	}
	return beside(self)
}

// named checks the file that an environment variable names.
func named(variable, path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w; this variable sets the program that runs inside worlds, and you can leave "+
			"it unset", variable, err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s: %s is not an executable file; this variable sets the program that runs inside "+
			"worlds, and you can leave it unset",
			variable, path)
	}
	return filepath.Abs(path)
}

// beside returns the driver program in the folder of a program, or else the program itself. A driver of another version is refused:
// how it speaks with engines may have changed.
func beside(self string) (string, error) {
	path, ok := program.Beside(self, FileName)
	if !ok {
		return self, nil
	}
	theirs, err := buildinfo.ReadFile(path)
	if err != nil || theirs.Path != module+"/cmd/"+FileName {
		return "", fmt.Errorf("%s is not Bloodhound's driver program; remove it, or set another one with "+
			"%s=FILE", path, Variable)
	}
	ours, known := debug.ReadBuildInfo()
	if known && otherVersion(ours, theirs) {
		return "", fmt.Errorf("%s has version %s, and this program has version %s; install the same version of "+
			"both: go install %s/cmd/...@VERSION",
			path, version(theirs), version(ours), module)
	}
	return path, nil
}

// version names what a program was built from; "" if that is not known.
func version(info *debug.BuildInfo) string {
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// WithDigest returns the path of a driver program that an embedded archive was unpacked to before, by its SHA-256 digest: failures of an
// earlier build replay with the driver of that build. It is "" if there is none, or if Variable names another one.
func WithDigest(digest string) string {
	if len(digest) != 2*sha256.Size || os.Getenv(Variable) != "" {
		return ""
	}
	for _, folder := range folders() {
		if ownfolder.Check(folder) != nil {
			continue
		}
		if path := pathIn(folder, digest); has(path, digest) {
			return path
		}
	}
	return ""
}

// pathIn is the place of a program in a folder of unpacked ones.
func pathIn(folder, digest string) string { return filepath.Join(folder, FileName+"-"+digest[:16]) }

// folders lists where an embedded program may be unpacked, best first. Names in the shared folder for temporary files have the user in
// them: package driverfile makes each folder for its user alone.
func folders() []string {
	temporary := filepath.Join(os.TempDir(), fmt.Sprintf("bloodhound-%d", os.Geteuid()), "drivers")
	if cache, err := os.UserCacheDir(); err == nil {
		return []string{filepath.Join(cache, "bloodhound", "drivers"), temporary}
	}
	return []string{temporary}
}

// unpack puts the program of an archive into the first of folders that takes it, under its digest, unless it is there.
func unpack(archive []byte, folders []string) (string, error) {
	var errs []error
	for _, folder := range folders {
		path, err := unpackIn(archive, folder)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("cannot store the program that runs inside worlds: %w; set HOME or TMPDIR to a folder "+
		"that you can write to",
		errors.Join(errs...))
}

// An archive begins with the digest of the program, 32 bytes; what follows is the program, compressed by Zstandard.
func unpackIn(archive []byte, folder string) (string, error) {
	if len(archive) < sha256.Size {
		return "", errors.New("the embedded archive is cut off")
	}
	digest := hex.EncodeToString(archive[:sha256.Size])
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := ownfolder.Check(folder); err != nil {
		return "", err
	}
	path := pathIn(folder, digest)
	if has(path, digest) {
		return path, nil
	}
	content, err := inflate(archive[sha256.Size:])
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != digest {
		return "", errors.New("the embedded archive does not match its digest")
	}
	return path, write(path, content)
}

func inflate(archive []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBytes))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	content, err := d.DecodeAll(archive, nil)
	if err != nil {
		return nil, fmt.Errorf("the embedded archive: %w", err)
	}
	return content, nil
}

// has reports whether a file has a digest. Whoever can write to the folder is the user: a digest finds a file that a full disk or a
// crash of the machine has spoilt.
func has(path, digest string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBytes || info.Mode().Perm() != fileMode {
		return false
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == digest
}

// fileMode lets programs of other users in a world, and daemons of container engines, execute the file.
const fileMode = 0o755

// write puts a file in place in one step, so that no process ever starts half of it.
func write(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(fileMode), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Overlay writes what `go build` needs to embed a driver program, without a change of the checkout whose root it is given, into the folder
// dir. It returns the flags of that build of cmd/bloodhound.
func Overlay(root, dir string, driver []byte) (flags []string, err error) {
	archive, err := Pack(driver)
	if err != nil {
		return nil, err
	}
	packed, overlay := filepath.Join(dir, "driver.pack"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, archivePath): packed}})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(packed, archive, 0o666), os.WriteFile(overlay, text, 0o666)); err != nil {
		return nil, err
	}
	return []string{"-tags", tag, "-overlay", overlay}, nil
}

// Pack makes the archive of a program that is embedded.
func Pack(program []byte) ([]byte, error) {
	sum := sha256.Sum256(program)
	// A window as large as the program finds all repetitions.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(16<<20))
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.EncodeAll(program, sum[:]), nil
}
