// Package s3 is the driver of S3, on minio-go. A key is an object of one bucket.
//
// The library's retries are off (MaxRetries 1), and so are its lookups of regions. Go's transport repeats requests on connections that it
// has used before, so every request has a connection of its own.
package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/bloodhound-dst/bloodhound/drivers/internal/wire"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	region        = "us-east-1"
	defaultBucket = "bloodhound"
	// maxObjectBytes bounds what a get reads.
	maxObjectBytes = 1 << 20
	// pageNames is how many names a request of a list asks for.
	pageNames = 1000
)

type driver struct{ made atomic.Bool }

// New makes the driver of a workload.
func New(*world.Workload) (workload.Protocol, error) { return &driver{}, nil }

type session struct {
	client *minio.Client
	bucket string
	sent   atomic.Int64 // bytes of finished connections
	last   atomic.Pointer[wire.Conn]
}

func (d *driver) Connect(target, _ string, deadline time.Time) (workload.Session, error) {
	server, err := wire.Parse(target, "80")
	if err != nil {
		return nil, err
	}
	s := &session{bucket: strings.Trim(server.Path, "/")}
	if s.bucket == "" {
		s.bucket = defaultBucket
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			until, _ := ctx.Deadline()
			c, err := wire.DialContext(ctx, network, address, until)
			if err != nil {
				return nil, err
			}
			if last := s.last.Swap(c); last != nil {
				s.sent.Add(last.Sent())
			}
			return c, nil
		}}
	s.client, err = minio.New(server.Host, &minio.Options{Creds: credentials.NewStaticV4(server.User, server.Password, ""), Region: region,
		BucketLookup: minio.BucketLookupPath, MaxRetries: 1, Transport: transport})
	if err != nil {
		return nil, err
	}
	if d.made.Load() {
		return s, nil
	}
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	err = s.client.MakeBucket(ctx, s.bucket, minio.MakeBucketOptions{Region: region})
	if code := minio.ToErrorResponse(err).Code; err != nil && code != minio.BucketAlreadyOwnedByYou && code != minio.BucketAlreadyExists {
		return nil, fmt.Errorf("the bucket %s: %w", s.bucket, err)
	}
	d.made.Store(true)
	return s, nil
}

func (s *session) Close() error { return nil } // each request closes its connection

// bytes is how many bytes were sent so far.
func (s *session) bytes() int64 {
	n := s.sent.Load()
	if last := s.last.Load(); last != nil {
		n += last.Sent()
	}
	return n
}

func (s *session) Perform(o *workload.Request, deadline time.Time) workload.Result {
	ctx, stop := context.WithDeadline(context.Background(), deadline)
	defer stop()
	before := s.bytes()
	r, err := s.perform(ctx, o)
	switch {
	case err == nil:
		return r
	case s.bytes() == before:
		return workload.Fail("not sent: %v", err)
	case refused(err):
		return workload.Fail("%v", err)
	}
	return workload.Info("%v", err)
}

func (s *session) perform(ctx context.Context, o *workload.Request) (workload.Result, error) {
	done := workload.OK("", false)
	switch o.Kind {
	case "put":
		_, err := s.client.PutObject(ctx, s.bucket, o.Key, bytes.NewReader([]byte(o.Value)), int64(len(o.Value)),
			minio.PutObjectOptions{ContentType: "text/plain", DisableMultipart: true})
		return done, err
	case "get":
		return s.get(ctx, o.Key)
	case "delete":
		return done, s.client.RemoveObject(ctx, s.bucket, o.Key, minio.RemoveObjectOptions{})
	case "list":
		return s.list(ctx, o.Key)
	}
	return workload.Fail("unknown operation %s", o.Kind), nil
}

func (s *session) get(ctx context.Context, key string) (workload.Result, error) {
	// Core sends one request; the object of GetObject would send one for each part that is read.
	body, about, _, err := minio.Core{Client: s.client}.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return workload.OK("", false), nil
	}
	if err != nil {
		return workload.Result{}, err
	}
	defer body.Close()
	value, err := io.ReadAll(io.LimitReader(body, maxObjectBytes))
	if err == nil && int64(len(value)) != about.Size {
		err = fmt.Errorf("%d of %d bytes", len(value), about.Size)
	}
	return workload.OK(string(value), true), err
}

// list gives the names that begin with a prefix, as a list of JSON.
func (s *session) list(ctx context.Context, prefix string) (workload.Result, error) {
	names := []string{}
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, MaxKeys: pageNames}) {
		if object.Err != nil {
			return workload.Result{}, object.Err
		}
		names = append(names, object.Key)
	}
	slices.Sort(names)
	text, err := json.Marshal(names)
	return workload.OK(string(text), true), err
}

// refused reports whether the server answered that the request is wrong or not allowed: status 4xx, but for timeouts and conflicts, with which
// an operation may be under way.
func refused(err error) bool {
	status := minio.ToErrorResponse(err).StatusCode
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict
}
