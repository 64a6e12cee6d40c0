package enginetest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Inspect shows a server with one process, whose file /data/log has what it has stored.
func (w *fake) Inspect() (engine.Inspection, error) {
	if _, on := w.mode(Opaque); on {
		return nil, engine.ErrUnsupported
	}
	return stopped{w}, nil
}

type stopped struct{ *fake }

func (x stopped) Position() record.Position { return record.PositionAt(x.out.Events) }

func (x stopped) Nodes() (list []engine.Node, err error) {
	for i := range x.spec.Nodes {
		list = append(list, engine.Node{Name: x.spec.Nodes[i].Name, Status: "running", Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)}})
	}
	return list, nil
}

func (x stopped) Threads() ([]engine.Thread, error) {
	return []engine.Thread{{Node: x.server, Program: "/bin/fake", Args: []string{"fake", "serve"}, PID: 1, TID: 1,
		Name: x.server + "/0", Call: "recvfrom", SinceNs: x.now - callNs}}, nil
}

func (x stopped) process(node string, pid int) error {
	if node != x.server || pid != 1 {
		return fmt.Errorf("node %s has no process %d", node, pid)
	}
	return nil
}

func (x stopped) Registers(node string, tid int) ([]record.Register, error) {
	return []record.Register{{Name: "rip", Value: "0x1"}}, x.process(node, tid)
}

func (x stopped) Memory(node string, pid int, _ uint64, bytes int) ([]byte, error) {
	return make([]byte, bytes), x.process(node, pid)
}

func (x stopped) Files(node string, pid int) ([]engine.OpenFile, error) {
	return []engine.OpenFile{{FD: 3, Object: "file", Path: "/data/log"}}, x.process(node, pid)
}

func (x stopped) Sockets(node string) ([]engine.Socket, error) {
	if node != x.server {
		return nil, nil
	}
	return []engine.Socket{{Object: "tcp", Local: "0.0.0.0:80", State: "LISTEN"}}, nil
}

func (x stopped) Core(node string, pid int, path string) (string, error) {
	if err := x.process(node, pid); err != nil {
		return "", err
	}
	return "", os.WriteFile(path, []byte("core"), 0o600)
}

func (x stopped) Tree(node string) (engine.Tree, error) {
	t := tree{node, "", x.now}
	if node == x.server {
		for _, k := range slices.Sorted(maps.Keys(x.store)) {
			t.log += k + "=" + x.store[k] + "\n"
		}
	}
	return t, nil
}

// tree has one folder with one file.
type tree struct {
	node, log string
	now       int64
}

func (t tree) Stat(path string) (engine.File, error) {
	f := engine.File{Path: path, MtimeNs: t.now}
	switch path {
	case "/", "/data":
		f.Mode = os.ModeDir | 0o755
	case "/data/log":
		f.Mode, f.Size = 0o644, int64(len(t.log))
	default:
		return f, fmt.Errorf("%s:%s: no such file or directory", t.node, path)
	}
	f.Rights = f.Mode.String()
	return f, nil
}

func (t tree) List(path string) ([]engine.File, error) {
	below, ok := map[string]string{"/": "/data", "/data": "/data/log"}[path]
	if !ok {
		return nil, errors.New(path + ": not a folder")
	}
	f, err := t.Stat(below)
	return []engine.File{f}, err
}

func (t tree) Open(path string) (io.Reader, error) {
	if f, err := t.Stat(path); err != nil || f.Mode.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%s:%s: is a directory", t.node, path))
	}
	return strings.NewReader(t.log), nil
}

func (t tree) Changes() ([]engine.FileChange, error) {
	if t.log == "" {
		return nil, nil
	}
	f, err := t.Stat("/data/log")
	return []engine.FileChange{{Change: "new", File: f}}, err
}
