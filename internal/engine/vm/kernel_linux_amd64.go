package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// modules lists the modules that the agent needs, unless they are built into the kernel.
var modules = []string{"fuse", "overlay", "tun", "inet_diag", "tcp_diag"}

// optional are those without which some faults are not there.
var optional = []string{"loop", "ext4"}

// kernel is a kernel with its modules.
type kernel struct {
	file    string
	version string
	folder  string // of the modules; empty if none is there
}

// errNoKernel is a machine without a kernel that can be used.
var errNoKernel = errors.New("there is no kernel for the virtual machine: download Debian's with `bloodhound " +
	"image pull-kernel`, or give one with --kernel, such as /boot/vmlinuz-6.1.0-30-cloud-amd64 with its modules " +
	"in /lib/modules")

// KernelDir is where pulled kernels lie: a folder for each, with boot and lib/modules.
func KernelDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "bloodhound", "kernels"), err
}

// findKernel looks for the kernel that was asked for, or else for a pulled one, and then for one of this machine.
func findKernel() (*kernel, error) {
	if file := os.Getenv(KernelVariable); file != "" {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("the kernel: %w; give a file vmlinuz-VERSION with --kernel", err)
		}
		return kernelOf(file), nil
	}
	var found []string
	if dir, err := KernelDir(); err == nil {
		list, _ := filepath.Glob(filepath.Join(dir, "*", "boot", "vmlinuz-*"))
		found = append(found, list...)
	}
	if len(found) == 0 {
		found, _ = filepath.Glob("/boot/vmlinuz-*")
	}
	for _, file := range slices.Backward(found) {
		if f, err := os.Open(file); err == nil {
			f.Close()
			if k := kernelOf(file); k.folder != "" {
				return k, nil
			}
		}
	}
	return nil, errNoKernel
}

// isKernel reports whether a file has the header of a kernel: of the boot protocol (Documentation/arch/x86/boot.rst), or of an ELF file.
func isKernel(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [0x206]byte
	n, _ := io.ReadFull(f, head[:])
	return n == len(head) && string(head[0x202:]) == "HdrS" || n >= 4 && string(head[:4]) == "\x7fELF"
}

func kernelOf(file string) *kernel {
	k := &kernel{file: file, version: strings.TrimPrefix(filepath.Base(file), "vmlinuz-")}
	for _, root := range []string{filepath.Dir(filepath.Dir(file)), "/", "/usr"} {
		dir := filepath.Join(root, "lib", "modules", k.version)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			k.folder = dir
			break
		}
	}
	return k
}

// module is the file of a module.
type module struct {
	name    string
	file    string // on this machine
	content []byte
}

// load reads the modules that the agent needs, each behind those that it depends on.
func (k *kernel) load() (list []module, err error) {
	if k.folder == "" {
		return nil, fmt.Errorf("the kernel %s has no modules: there is no folder lib/modules/%s beside it or on "+
			"this machine; give a kernel that has its modules with --kernel, or download one with `bloodhound "+
			"image pull-kernel`", k.file, k.version)
	}
	builtIn := map[string]bool{}
	text, _ := os.ReadFile(filepath.Join(k.folder, "modules.builtin"))
	for line := range strings.Lines(string(text)) {
		builtIn[moduleName(strings.TrimSpace(line))] = true
	}
	files := map[string]string{}
	err = filepath.WalkDir(k.folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(path), ".ko") {
			files[moduleName(path)] = path
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	done := map[string]bool{}
	var add func(name, by string) error
	add = func(name, by string) error {
		if done[name] || builtIn[name] {
			return nil
		}
		done[name] = true
		file, ok := files[name]
		if !ok {
			return fmt.Errorf("the kernel %s lacks the module %s, which %s needs; use another kernel: "+
				"`bloodhound image pull-kernel` downloads Debian's, which has it",
				k.version, name, by)
		}
		if !strings.HasSuffix(file, ".ko") {
			return fmt.Errorf("the module %s is compressed; unpack the kernel's modules, or use Debian 12's "+
				"kernel (`bloodhound image pull-kernel`)", file)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		content = unsigned(content)
		depends, err := dependencies(content)
		if err != nil {
			return fmt.Errorf("the module %s: %w", file, err)
		}
		for _, d := range depends {
			if err := add(strings.ReplaceAll(d, "-", "_"), "the module "+name); err != nil {
				return err
			}
		}
		list = append(list, module{name + ".ko", file, content})
		return nil
	}
	for _, name := range modules {
		if err := add(name, "the engine vm"); err != nil {
			return nil, err
		}
	}
	for _, name := range optional {
		if files[name] != "" {
			if err := add(name, "a disk that loses its power"); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func moduleName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// dependencies returns the modules that a kernel module depends on, as modinfo(8) shows them.
func dependencies(content []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return nil, errors.New("it has no section .modinfo")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	for entry := range bytes.SplitSeq(info, []byte{0}) {
		if list, ok := strings.CutPrefix(string(entry), "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}

// unsigned cuts off the signature of a module: to verify it takes an emulated CPU longer than all else that loading does.
func unsigned(content []byte) []byte {
	const magic, tail = "~Module signature appended~\n", 12 // struct module_signature of the kernel: the length is at its end
	rest, ok := bytes.CutSuffix(content, []byte(magic))
	if !ok || len(rest) < tail {
		return content
	}
	length := int(binary.BigEndian.Uint32(rest[len(rest)-4:]))
	if length > len(rest)-tail {
		return content
	}
	return rest[:len(rest)-tail-length]
}

// loadable is a program without what lies behind the parts that are loaded, such as the names of its lines.
func loadable(program []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	end := uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, p.Off+p.Filesz)
		}
	}
	if f.Class != elf.ELFCLASS64 || end > uint64(len(program)) {
		return nil, errors.New("it is not a program for x86-64")
	}
	program = bytes.Clone(program[:end])
	clear(program[40:48]) // e_shoff
	clear(program[60:64]) // e_shnum, e_shstrndx
	return program, nil
}

// libraries lists the dynamic linker and the libraries of a program by their paths on this machine, none for one that is static.
func libraries(file string) (list []string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			path := make([]byte, p.Filesz)
			if _, err := p.ReadAt(path, 0); err != nil {
				return nil, err
			}
			list = append(list, strings.TrimRight(string(path), "\x00"))
		}
	}
	names, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(names); i++ {
		path, err := library(names[i])
		if err != nil {
			return nil, err
		}
		list = append(list, path)
		l, err := elf.Open(path)
		if err != nil {
			return nil, err
		}
		more, err := l.ImportedLibraries()
		l.Close()
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func library(name string) (string, error) {
	for _, dir := range []string{"/lib/x86_64-linux-gnu", "/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib", "/usr/lib"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the library %s of this program does not exist; a program built with CGO_ENABLED=0 "+
		"needs none", name)
}
