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

// disk is a node's log file: one line a record, "CRC JSON", only ever appended to. What save has returned for is
// there after kill -9 and after a loss of power.
type disk struct {
	file *os.File
	buf  bytes.Buffer
}

// openDisk opens or creates the file, with its folder, and returns its records. A torn last line, which a loss of power leaves
// behind, was never acknowledged and is cut off; damage anywhere else is an error.
func openDisk(path string) (*disk, []Record, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	var records []Record
	good := int64(0)
	in := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		r, err := parseRecord(line[:len(line)-1])
		if err != nil {
			if _, more := in.Peek(1); more != nil {
				break
			}
			f.Close()
			return nil, nil, fmt.Errorf("%s:%d: %w: the file is damaged; restore it from a copy: a node that forgets its votes and entries breaks its promises", path, number, err)
		}
		records = append(records, r)
		good += int64(len(line))
	}
	if err := f.Truncate(good); err != nil {
		f.Close()
		return nil, nil, err
	}
	if _, err := f.Seek(good, io.SeekStart); err != nil {
		f.Close()
		return nil, nil, err
	}
	return &disk{file: f}, records, nil
}

func parseRecord(line []byte) (Record, error) {
	var r Record
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != checksum(text) {
		return r, errors.New("wrong checksum")
	}
	return r, json.Unmarshal(text, &r)
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

// save returns when all records are on disk.
func (d *disk) save(records []Record) error {
	if len(records) == 0 {
		return nil
	}
	d.buf.Reset()
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(&d.buf, "%s %s\n", checksum(text), text)
	}
	if _, err := d.file.Write(d.buf.Bytes()); err != nil {
		return err
	}
	return d.file.Sync()
}
