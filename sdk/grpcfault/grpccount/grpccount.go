// Package grpccount counts what services answer over gRPC to a program in production, and which answers breach their
// contracts. It passes every call through and injects nothing. Package grpcfault reads the counts, so that a test
// injects the same failures. This package imports only the standard library, gRPC and this project, and does not import
// package testing.
package grpccount

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bloodhound-dst/bloodhound/sdk/grpcfault/internal/methods"
	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
)

// Operation selects the calls or streams that are counted together, and lists the status codes that the service
// documents for them.
type Operation struct {
	// Name identifies the operation in the counts, such as "charge". It matches the Operation of a grpcfault.Method or
	// grpcfault.Stream.
	Name string
	// Method is the full name of a method, "/shop.Payments/Charge"; "/shop.Payments/*" for all methods of a service; or
	// "*" for all. The most specific one applies.
	Method string
	// Codes lists the status codes that the service documents, besides OK. Others count as breaches, except Unavailable
	// and DeadlineExceeded, which clients report for lost calls: if they are undocumented, the call counts as lost.
	Codes []codes.Code
}

// Counter counts calls of operations and serves the counts as JSON (http.Handler). It is safe for concurrent use.
type Counter struct {
	all     counts.Counter
	methods methods.Table[counts.Operation]
}

// New makes a Counter. It panics if an operation is invalid.
func New(operations ...Operation) *Counter {
	c := &Counter{all: counts.Counter{By: "grpccount"}, methods: methods.Table[counts.Operation]{}}
	for _, o := range operations {
		var documented []string
		for _, code := range o.Codes {
			if code == codes.OK || code > codes.Unauthenticated {
				panic(fmt.Sprintf("grpccount: the code %d of %s is not a gRPC error; leave it out", code, o.Name))
			}
			documented = append(documented, code.String())
		}
		c.methods.Add(o.Method, c.all.Add(o.Name, documented...))
	}
	return c
}

// UnaryClient intercepts the unary calls of a client and counts the ones that belong to an operation. A call that the
// program itself cancels does not count.
func (c *Counter) UnaryClient() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, req, reply, cc, opts...)
		if at := c.methods.Lookup(method); at != nil {
			count(ctx, at, err)
		}
		return err
	}
}

// StreamClient intercepts the streams of a client and counts the ones that belong to an operation, each as one call
// when it ends. A stream that the program abandons before its end does not count.
func (c *Counter) StreamClient() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption) (grpc.ClientStream, error) {
		under, err := open(ctx, desc, cc, method, opts...)
		at := c.methods.Lookup(method)
		switch {
		case at == nil:
			return under, err
		case err != nil:
			count(ctx, at, err)
			return nil, err
		}
		return &stream{ClientStream: under, ctx: ctx, at: at, one: !desc.ServerStreams}, nil
	}
}

type stream struct {
	grpc.ClientStream
	ctx  context.Context // of the program; that of the stream is cancelled at its end
	at   *counts.Operation
	one  bool // the server answers one message, at the end
	once sync.Once
}

// RecvMsg receives a message (grpc.ClientStream).
func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	switch {
	case err == io.EOF, err == nil && s.one:
		s.once.Do(func() { count(s.ctx, s.at, nil) })
	case err != nil:
		s.once.Do(func() { count(s.ctx, s.at, err) })
	}
	return err
}

// count counts a call that has ended.
func count(ctx context.Context, at *counts.Operation, err error) {
	if err != nil && ctx.Err() == context.Canceled {
		return
	}
	code := status.Code(err)
	if code == codes.Unknown || code > codes.Unauthenticated {
		code = status.FromContextError(err).Code() // other interceptors return errors of contexts; the rest stays Unknown
	}
	at.Call()
	switch {
	case code == codes.OK:
	case (code == codes.Unavailable || code == codes.DeadlineExceeded) && !at.Documents(code.String()):
		at.Lost()
	default:
		at.Answer(code.String())
	}
}

// ServeHTTP answers with the counts so far, as JSON (http.Handler).
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.all.ServeHTTP(w, r) }

// MarshalJSON returns the counts so far (json.Marshaler).
func (c *Counter) MarshalJSON() ([]byte, error) { return c.all.MarshalJSON() }
