package program

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// callerVariable has the version of the program that has become this one. Programs that this one starts do not get it.
const callerVariable = "BLOODHOUND_CALLER"

// Companion finds another program of this project: beside this one, or else in PATH. Without one, the error is exec.ErrNotFound.
func Companion(name string) (path string, err error) {
	if self, err := os.Executable(); err == nil {
		if path, ok := Beside(self, name); ok {
			return path, nil
		}
	}
	path, err = exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) { // a folder of the user's own, such as a project's, may have any program
		return "", exec.ErrNotFound
	}
	return path, err
}

// Beside finds a program in the folder of another one, or of the file that the other one is a link to.
func Beside(self, name string) (path string, ok bool) {
	folders := []string{filepath.Dir(self)}
	if target, err := filepath.EvalSymlinks(self); err == nil {
		folders = append(folders, filepath.Dir(target))
	}
	for _, dir := range folders {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, true
		}
	}
	return "", false
}

// Become executes a program in the place of this process, which keeps its standard streams, its number and its signals.
func Become(path string, args []string) error {
	return syscall.Exec(path, append([]string{filepath.Base(path)}, args...), append(os.Environ(), callerVariable+"="+Version()))
}

// Caller is the version of the program that has become this one, if one has.
func Caller() (version string, called bool) {
	version, called = os.LookupEnv(callerVariable)
	os.Unsetenv(callerVariable)
	return version, called
}
