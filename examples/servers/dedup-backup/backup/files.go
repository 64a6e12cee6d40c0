package main

import (
	"os"
	"path/filepath"
	"strings"
)

// Files are the contents that a server stores, each in a file named by hash and nonce.
type Files struct {
	Folder string
}

// suffix marks files that are not complete yet.
const suffix = ".new"

// Prepare makes the folder and drops what was not complete.
func (f Files) Prepare() error {
	if err := os.MkdirAll(f.Folder, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.Folder)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) {
			os.Remove(filepath.Join(f.Folder, entry.Name()))
		}
	}
	return err
}

// Store writes a file, whole and durably, or not at all.
func (f Files) Store(name string, content []byte) error {
	path := filepath.Join(f.Folder, name)
	if err := write(path+suffix, content); err != nil {
		os.Remove(path + suffix)
		return err
	}
	if err := os.Rename(path+suffix, path); err != nil {
		return err
	}
	folder, err := os.Open(f.Folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

func write(path string, content []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.Sync()
}

// Read gives a file's content; the error of a file that is not there is os.ErrNotExist.
func (f Files) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(f.Folder, filepath.Base(name)))
}

// Remove removes a file, or nothing if it is not there.
func (f Files) Remove(name string) error {
	if err := os.Remove(filepath.Join(f.Folder, name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Names lists the complete files.
func (f Files) Names() ([]string, error) {
	entries, err := os.ReadDir(f.Folder)
	names := []string{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), suffix) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
