package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What Bloodhound writes into a project is no part of its world, and comes and goes: programs that list their folder
// would make it another run. So nodes do not see it. Of the state folder they see bin alone (engine/native/fs); beside
// the configuration the folders for committed failures and for the CI action's reports are not there for them, nor is a
// file that a flag or a key had written, for as long as it has the bytes that were written.

// reportsName is the folder that the CI action writes its reports into.
const reportsName = "bloodhound-report"

// outputsName is the list, in the state folder, of the files that were written where a flag or a key named them.
const outputsName = "outputs.json"

// outputs has the files that Bloodhound has written, from the project's folder on.
type outputs map[string]output

// output reports the bytes that were written.
type output struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// maxOutputsBytes bounds the list of them.
const maxOutputsBytes = 64 << 20

// readOutputs reads the list of a project, without what has been changed or removed since.
func readOutputs(dir string) outputs {
	list := outputs{}
	text, err := regular.Read(filepath.Join(StateFolder(dir), outputsName), maxOutputsBytes)
	if err != nil || json.Unmarshal(text, &list) != nil {
		return outputs{}
	}
	maps.DeleteFunc(list, func(path string, o output) bool { return !o.is(filepath.Join(dir, path)) })
	return list
}

func (o output) is(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != o.Size {
		return false
	}
	now, ok := OutputOf(path)
	return ok && now == o
}

// OutputOf looks at a file, and reports whether it is a regular one that can be read.
func OutputOf(path string) (output, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return output{}, false
	}
	sum, _ := filedigest.Sum(path, nil)
	return output{info.Size(), sum}, sum != ""
}

// RecordOutput remembers a file that a flag or a key had written. Where that cannot be stored, a later run may see the file, and
// is distinguished by it.
func RecordOutput(spec *world.Spec, path string) {
	o, ok := OutputOf(path)
	state := StateFolder(spec.Dir)
	if _, err := os.Stat(state); !ok || err != nil {
		return
	}
	list := readOutputs(spec.Dir)
	list[flags.RelativeTo(spec.Dir, path)] = o
	if text, err := json.MarshalIndent(list, "", "  "); err == nil {
		report.WriteFile(filepath.Join(state, outputsName), append(text, '\n'))
	}
}

// HiddenFiles are the files and folders that the nodes of a project do not see; coming are those that are about to be written,
// empty names aside.
func HiddenFiles(spec *world.Spec, coming []string) []string {
	list := []string{filepath.Join(spec.Dir, CommittedName), filepath.Join(spec.Dir, reportsName)}
	list = append(list, OwnOutputs(spec.Dir)...)
	for _, path := range coming {
		if abs, err := filepath.Abs(path); path != "" && err == nil {
			list = append(list, abs)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(readOutputs(spec.Dir))) {
		list = append(list, filepath.Join(spec.Dir, path))
	}
	// A folder of the project that has nothing else in it was made for them.
	for i := 0; i < len(list); i++ {
		parent := filepath.Dir(list[i])
		if !strings.HasPrefix(parent, spec.Dir+"/") || slices.Contains(list, parent) {
			continue
		}
		entries, err := os.ReadDir(parent)
		if err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(list, filepath.Join(parent, e.Name())) }) {
			list = append(list, parent)
		}
	}
	return list
}

// Writable fails before anything runs if the file of a flag could not be written after it.
func Writable(flag, path string) error {
	if path == "" {
		return nil
	}
	if problem, remedy := report.Unwritable(path); problem != "" {
		return fmt.Errorf("%s %s: %s; %s", flag, path, problem, remedy)
	}
	return nil
}

// WriteResult writes a file that a flag names. What is there and no regular file, a pipe or /dev/stdout, is written to
// and not replaced.
func WriteResult(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return report.WriteFile(path, data)
	}
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Close())
}

// IsBelow reports whether a file lies in a folder, by names.
func IsBelow(folder, name string) bool {
	path, err := filepath.Abs(name)
	return err == nil && strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// OwnOutputs are the files of a folder that this process writes its output to.
func OwnOutputs(dir string) (list []string) {
	for _, fd := range []string{"1", "2"} {
		path, err := os.Readlink("/proc/self/fd/" + fd)
		if err != nil || !IsBelow(dir, path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			list = append(list, path)
		}
	}
	return list
}
