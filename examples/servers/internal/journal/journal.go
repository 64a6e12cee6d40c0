// Package journal is the disk of the examples' servers: a file with a line "CRC JSON" for each record, which is only appended to.
package journal

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

// Options change a journal.
type Options struct {
	// Lazy leaves it to the system when to write: a loss of power takes what was acknowledged.
	Lazy bool
	// TornAnywhere ends the records at the first line that is torn, for servers that may lose later ones. Without it only the last line may be torn, as a loss of power
	// leaves it; it was never acknowledged and is cut off. Damage before it is an error.
	TornAnywhere bool
}

// Journal is a server's file. What Append has returned for is there after a loss of power.
type Journal[T any] struct {
	Options
	path string
	file *os.File
	buf  bytes.Buffer
}

// Open opens or creates the file, with its folder, and returns its records.
func Open[T any](path string, o Options) (*Journal[T], []T, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal[T]{Options: o, path: path, file: f}
	records, good, err := read[T](f, o.TornAnywhere)
	if err == nil {
		err = f.Truncate(good)
	}
	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}
	if err == nil {
		err = j.sync(f)
	}
	if err == nil {
		err = j.syncFolder()
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, records, nil
}

// read returns the records of a file, and where they end.
func read[T any](f io.Reader, tornAnywhere bool) (records []T, good int64, err error) {
	in := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return records, good, nil
		}
		if err != nil {
			return nil, 0, err
		}
		r, err := parse[T](line[:len(line)-1])
		if err != nil {
			if _, more := in.Peek(1); more != nil || tornAnywhere {
				return records, good, nil
			}
			return nil, 0, fmt.Errorf("line %d: %w: the file is damaged; a server that forgets what it has acknowledged breaks its promises", number, err)
		}
		records = append(records, r)
		good += int64(len(line))
	}
}

func parse[T any](line []byte) (r T, err error) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != checksum(text) {
		return r, errors.New("wrong checksum")
	}
	return r, json.Unmarshal(text, &r)
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

// Append returns when all records are on the disk.
func (j *Journal[T]) Append(records ...T) error {
	if err := j.write(j.file, records); err != nil {
		return err
	}
	return j.sync(j.file)
}

// Replace returns when the file has one record alone, which takes the place of all others at once.
func (j *Journal[T]) Replace(record T) error {
	f, err := os.Create(j.path + ".new")
	if err != nil {
		return err
	}
	if err = j.write(f, []T{record}); err == nil {
		err = j.sync(f)
	}
	if err == nil {
		err = os.Rename(f.Name(), j.path)
	}
	if err == nil {
		err = j.syncFolder()
	}
	if err != nil {
		f.Close()
		return err
	}
	j.file.Close()
	j.file = f
	return nil
}

func (j *Journal[T]) write(f *os.File, records []T) error {
	j.buf.Reset()
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(&j.buf, "%s %s\n", checksum(text), text)
	}
	_, err := f.Write(j.buf.Bytes())
	return err
}

func (j *Journal[T]) sync(f *os.File) error {
	if j.Lazy {
		return nil
	}
	return f.Sync()
}

// syncFolder makes the file's name durable.
func (j *Journal[T]) syncFolder() error {
	f, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return err
	}
	defer f.Close()
	return j.sync(f)
}
