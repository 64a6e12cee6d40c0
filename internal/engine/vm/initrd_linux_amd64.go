package vm

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// writeInitrd writes the first files of the guest: this program as init, the libraries that it needs, and modules of the kernel.
func writeInitrd(w io.Writer, self string, list []module, disk []byte) error {
	if first := os.Getenv(InitrdVariable); first != "" { // the kernel unpacks one archive behind the other
		content, err := os.ReadFile(first)
		if err != nil {
			return fmt.Errorf("the initrd: %w; give a cpio archive with --initrd", err)
		}
		if _, err := w.Write(append(content, make([]byte, -len(content)&3)...)); err != nil {
			return err
		}
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if program, err = loadable(program); err != nil {
		return fmt.Errorf("%s: %w", self, err)
	}
	needed, err := libraries(self)
	if err != nil {
		return err
	}
	a := &archive{w: w}
	made := map[string]bool{}
	var folders func(dir string)
	folders = func(dir string) {
		if dir = strings.Trim(dir, "/"); dir == "" || dir == "." || made[dir] {
			return
		}
		folders(path.Dir(dir))
		made[dir] = true
		a.folder(dir)
	}
	for _, dir := range []string{"dev", "proc", "sys", "lib"} {
		folders(dir)
	}
	a.entry("dev/console", cpioDevice|0o600, 5, 1, nil)
	a.file("init", program)
	for _, file := range needed {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folders(path.Dir(file))
		a.file(strings.TrimPrefix(file, "/"), content)
	}
	var names bytes.Buffer
	for _, m := range list {
		fmt.Fprintln(&names, m.name)
		a.file(strings.TrimPrefix(wire.ModulesDir, "/")+m.name, m.content)
	}
	a.file(strings.TrimPrefix(wire.ModulesFile, "/"), names.Bytes())
	a.file(strings.TrimPrefix(wire.DiskFile, "/"), disk)
	return a.end()
}
