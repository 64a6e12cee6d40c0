// Package s3 runs the suite of contract.Buckets on Versity's gateway, which serves a folder by the protocol of S3.
package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/bloodhound-dst/bloodhound/sdk/contract"
)

type bucket struct {
	ctx  context.Context
	c    *minio.Client
	name string
}

func (b bucket) Put(key string, body []byte) error {
	_, err := b.c.PutObject(b.ctx, b.name, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
	return err
}

func (b bucket) get(key string, o minio.GetObjectOptions) ([]byte, bool, error) {
	object, err := b.c.GetObject(b.ctx, b.name, key, o)
	if err != nil {
		return nil, false, err
	}
	defer object.Close()
	body, err := io.ReadAll(object)
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && answer.Code == minio.NoSuchKey {
		return nil, false, nil
	}
	return body, err == nil, err
}

func (b bucket) Get(key string) ([]byte, bool, error) { return b.get(key, minio.GetObjectOptions{}) }

func (b bucket) Range(key string, from, to int64) ([]byte, error) {
	var o minio.GetObjectOptions
	if err := o.SetRange(from, to-1); err != nil {
		return nil, err
	}
	body, _, err := b.get(key, o)
	return body, err
}

func (b bucket) Delete(key string) error {
	return b.c.RemoveObject(b.ctx, b.name, key, minio.RemoveObjectOptions{})
}

func (b bucket) List(prefix, after string, n int) (list []string, err error) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	for o := range b.c.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, StartAfter: after, MaxKeys: n, Recursive: true}) {
		if o.Err != nil {
			return nil, o.Err
		}
		if list = append(list, o.Key); len(list) == n {
			break
		}
	}
	return list, nil
}

func TestS3(t *testing.T) {
	dir := t.TempDir()
	program, data := filepath.Join(dir, "versitygw"), filepath.Join(dir, "data")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/versity/versitygw/cmd/versitygw").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), program, "--port", address, "--access", "tester", "--secret", "s3cret-w0rd", "posix", data)
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.Process.Kill()
		server.Wait()
	}()
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4("tester", "s3cret-w0rd", "")})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; {
		_, err := client.ListBuckets(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("it does not serve: %v\n%s", err, text)
		}
		time.Sleep(100 * time.Millisecond) // a server has no event for its readiness
	}
	n := 0
	contract.Test(t, contract.Buckets(), contract.Place[contract.Objects]{Name: "versitygw", Real: true, With: func(t testing.TB, play func(contract.Objects)) {
		n++
		name := "bucket" + string(rune('a'+n))
		if err := client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
		play(bucket{t.Context(), client, name})
	}})
}
