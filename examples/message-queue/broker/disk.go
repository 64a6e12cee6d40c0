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
)

// disk is a broker's journal: one line a record, "CRC JSON", only ever appended to.
type disk struct {
	file *os.File
	// lazy leaves it to the system when to write: a loss of power takes what was answered.
	lazy bool
}

// record is what changed at once: the epoch and the vote, and the log from an entry on.
type record struct {
	Epoch    int
	VotedFor string
	From     int
	Entries  []entry
}

// openDisk opens or creates the journal and gives its records. A loss of power may leave a last line that is torn: nothing of
// it was ever answered, and it is cut off.
func openDisk(path string) (*disk, []record, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	// The name of a new file must survive, too.
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return nil, nil, err
	}
	var records []record
	whole := int64(0)
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		r, ok := parse(line)
		if !ok {
			if _, more := in.Peek(1); more == nil {
				return nil, nil, fmt.Errorf("%s: damaged after %d bytes; a broker that forgets its votes breaks its promises", path, whole)
			}
			break
		}
		records = append(records, r)
		whole += int64(len(line))
	}
	if err := f.Truncate(whole); err != nil {
		return nil, nil, err
	}
	_, err = f.Seek(whole, io.SeekStart)
	return &disk{file: f}, records, err
}

func parse(line []byte) (r record, ok bool) {
	sum, text, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	ok = found && bytes.HasSuffix(line, []byte("\n")) && string(sum) == checksum(text) && json.Unmarshal(text, &r) == nil
	return r, ok
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

// save returns when the record is on the disk, unless the disk is lazy.
func (d *disk) save(r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(d.file, "%s %s\n", checksum(text), text); err != nil {
		return err
	}
	if d.lazy {
		return nil
	}
	return d.file.Sync()
}
