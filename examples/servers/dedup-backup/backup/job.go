package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Job backs up one version of an object. Reference is the name under which it holds its content; each attempt has one of
// its own.
type Job struct {
	*Server
	Reference string
	Source    string // URL
}

// Run does the steps of the story. It gives the row that holds the content, or an error if the job failed.
func (j *Job) Run(ctx context.Context) (Row, error) {
	content, err := pull(ctx, j.Source) // (1)
	if err != nil {
		return Row{}, err
	}
	hash := hashOf(content) // (2)
	step4, step5 := j.addReference, j.insert
	if j.Repaired4 {
		step4 = j.addReferenceRepaired
	}
	if j.Repaired5 {
		step5 = j.insertRepaired
	}
	if row, hit := step4(ctx, hash); hit { // (3), (4)
		return row, nil
	}
	return step5(ctx, hash, content) // (5)
}

// addReference is step 4 as described. After an error the job continues as if there were no row.
func (j *Job) addReference(ctx context.Context, hash string) (row Row, hit bool) {
	row, hit, _, err := j.Database.AddReference(ctx, hash, j.Reference)
	return row, hit && err == nil
}

// addReferenceRepaired is step 4 that leaves no reference behind. After an error the database may have added it, or may
// still do so. So first the session is ended, which settles that, and then the reference is removed. A removal that errs
// is settled too before the next one: it could come late, and take what step 5 adds under the same name.
func (j *Job) addReferenceRepaired(ctx context.Context, hash string) (row Row, hit bool) {
	row, hit, session, err := j.Database.AddReference(ctx, hash, j.Reference)
	if err == nil {
		return row, hit
	}
	j.Database.Fence(ctx, session)
	forever(func() error {
		session, err := j.Database.RemoveReferences(ctx, hash, j.Reference)
		if err != nil {
			j.Database.Fence(ctx, session)
		}
		return err
	})
	return Row{}, false
}

// insert is step 5 as described. If the insert errs, the row may exist all the same: so it is deleted.
func (j *Job) insert(ctx context.Context, hash string, content []byte) (Row, error) {
	row := Row{Hash: hash, Nonce: nonce(), Node: j.Node}
	if _, err := j.Database.Insert(ctx, row, j.Reference); err != nil {
		forever(func() error { return j.Database.Delete(ctx, row) })
		return Row{}, fmt.Errorf("insert: %w", err)
	}
	if err := j.Files.Store(row.File(), content); err != nil {
		forever(func() error { return j.Database.Delete(ctx, row) })
		return Row{}, err
	}
	return row, nil
}

// insertRepaired is step 5 that keeps what others rely on. As soon as the row is there, another job may find it and add
// its own reference. So the file is stored first; and after an error the job takes back no more than its own reference.
// If that was the only one, the collector does the rest.
func (j *Job) insertRepaired(ctx context.Context, hash string, content []byte) (Row, error) {
	row := Row{Hash: hash, Nonce: nonce(), Node: j.Node}
	if err := j.Files.Store(row.File(), content); err != nil {
		return Row{}, err
	}
	session, err := j.Database.Insert(ctx, row, j.Reference)
	if err == nil {
		return row, nil
	}
	j.Database.Fence(ctx, session)
	var exists bool
	forever(func() (err error) {
		exists, err = j.Database.RemoveReference(ctx, row, j.Reference)
		return err
	})
	if !exists {
		// No other job has seen the row, and none ever will.
		forever(func() error { return j.Files.Remove(row.File()) })
	}
	return Row{}, fmt.Errorf("insert: %w", err)
}

// pull gets what a URL has; the error of what is not there is os.ErrNotExist.
func pull(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return io.ReadAll(response.Body)
	case http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", url, os.ErrNotExist)
	}
	return nil, fmt.Errorf("%s: %s", url, response.Status)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// nonce is a random text that is used once.
func nonce() string {
	var random [4]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
