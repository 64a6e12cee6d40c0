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

// record is a line of a replica's file: what a key holds from then on. Since values merge, a file may be read in any order, and
// a line that is missing at its end has never been acknowledged.
type record struct {
	Key   string `json:"k"`
	Value Value  `json:"v"`
}

// disk is a replica's file: a line "CRC JSON" for each record. What save has returned for is there after a loss of power.
type disk struct{ file *os.File }

// openDisk opens or creates the file, with its folder, and gives its records up to the first line that is torn.
func openDisk(path string) (*disk, []record, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	var records []record
	good := int64(0)
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		var r record
		if err != nil || !parse(line[:len(line)-1], &r) {
			break
		}
		records = append(records, r)
		good += int64(len(line))
	}
	if err := f.Truncate(good); err != nil {
		return nil, nil, err
	}
	if _, err := f.Seek(good, io.SeekStart); err != nil {
		return nil, nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, nil, err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	return &disk{file: f}, records, folder.Sync()
}

func parse(line []byte, r *record) bool {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	return ok && string(sum) == checksum(text) && json.Unmarshal(text, r) == nil
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

// save returns when all records are on disk.
func (d *disk) save(records ...record) error {
	var lines bytes.Buffer
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s %s\n", checksum(text), text)
	}
	if _, err := d.file.Write(lines.Bytes()); err != nil {
		return err
	}
	return d.file.Sync()
}
