package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/examples/distributed-kv/raft"
)

// disk is a node's log file: a line "CRC JSON" for each raft.Saved. What save has returned for is there after a loss of power.
type disk struct {
	path string
	file *os.File
	// sync tells whether files are synchronised at all. A store that does not is fast, and loses what it has acknowledged.
	sync bool
}

// openDisk opens or creates the file, with its folder, and gives what was saved. A torn last line, which a loss of power leaves
// behind, was never acknowledged and is cut off; damage anywhere else is an error.
func openDisk(path string, sync bool) (*disk, []raft.Saved, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	d := &disk{path: path, file: f, sync: sync}
	saved, good, err := read(f)
	if err == nil {
		err = f.Truncate(good)
	}
	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}
	if err == nil {
		err = d.synchronise(f)
	}
	if err == nil {
		err = d.synchroniseFolder()
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, saved, nil
}

// read gives the records of a file, and where they end.
func read(f io.Reader) (saved []raft.Saved, good int64, err error) {
	in := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return saved, good, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var s raft.Saved
		if err := parse(line[:len(line)-1], &s); err != nil {
			if _, more := in.Peek(1); more != nil {
				return saved, good, nil
			}
			return nil, 0, fmt.Errorf("line %d: %w: the file is damaged; a node that forgets its votes and entries breaks its promises", number, err)
		}
		saved = append(saved, s)
		good += int64(len(line))
	}
}

func parse(line []byte, s *raft.Saved) error {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != checksum(text) {
		return errors.New("wrong checksum")
	}
	return json.Unmarshal(text, s)
}

func format(s *raft.Saved) ([]byte, error) {
	text, err := json.Marshal(s)
	return fmt.Appendf(nil, "%s %s\n", checksum(text), text), err
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

// save returns when s is on disk. A snapshot starts a new file, which takes the old one's place when it is whole.
func (d *disk) save(s *raft.Saved) error {
	line, err := format(s)
	if err != nil {
		return err
	}
	if s.Snapshot == nil {
		if _, err := d.file.Write(line); err != nil {
			return err
		}
		return d.synchronise(d.file)
	}
	f, err := os.Create(d.path + ".new")
	if err != nil {
		return err
	}
	if _, err = f.Write(line); err == nil {
		err = d.synchronise(f)
	}
	if err == nil {
		err = os.Rename(f.Name(), d.path)
	}
	if err == nil {
		err = d.synchroniseFolder()
	}
	if err != nil {
		f.Close()
		return err
	}
	d.file.Close()
	d.file = f
	return nil
}

func (d *disk) synchronise(f *os.File) error {
	if !d.sync {
		return nil
	}
	return f.Sync()
}

// synchroniseFolder makes the file's name durable.
func (d *disk) synchroniseFolder() error {
	f, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	defer f.Close()
	return d.synchronise(f)
}
