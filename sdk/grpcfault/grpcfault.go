// Package grpcfault makes gRPC calls and streams fail, by interceptors of clients and servers; package sdk decides
// when. Requests and answers may be lost, and a service may answer with a status code from its catalogue, or with one
// that breaches its contract, which counts separately.
//
// It is a separate module, so that package sdk does not depend on gRPC.
package grpcfault

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/grpcfault/internal/methods"
)

// Method selects unary calls that fail alike.
type Method struct {
	// Name is the full name of a method, "/shop.Payments/Charge"; "/shop.Payments/*" for all methods of a service; or
	// "*" for all. The most specific one applies.
	Name string
	// Operation names these calls in the ledger, such as "charge".
	Operation string
	sdk.Rates
	Answers []Answer
}

// Stream selects streams that fail alike.
type Stream struct {
	// Name and Operation have the same meaning as in Method.
	Name, Operation string
	// Rates are of the stream as a whole, but for Late and Twice: it is never opened, or it is handled to its end, which is lost.
	sdk.Rates
	// Send and Receive apply to each message. The stream breaks before the message is sent, or before or after it is
	// received. Late and Twice are invalid here, and so is After in Send: sending a message does not tell whether it
	// arrives.
	Send, Receive sdk.Rates
	Answers       []Answer
}

// Answer is a status that the service may return instead of success.
type Answer struct {
	Code    codes.Code
	Message string
	// Before is the probability that the service answers so without handling the call, After that it handles the call
	// first.
	Before, After float64
	// Breach marks an answer that the service's contract excludes.
	Breach bool
}

// point is where calls, or streams, fail.
type point struct {
	*sdk.Point
	send, receive *sdk.Point // of a stream
	answers       []Answer
}

func newPoint(source sdk.Source, service, method, operation string, r sdk.Rates, list []Answer) *point {
	if operation == "" {
		panic(fmt.Sprintf("grpcfault: %s needs an Operation, its name in the ledger", method))
	}
	var answers []sdk.Answer
	for _, a := range list {
		if a.Code == codes.OK {
			panic(fmt.Sprintf("grpcfault: an answer of %s %s is OK, which is not an error; choose another status", service, operation))
		}
		answers = append(answers, sdk.Answer{Name: strings.ToLower(a.Code.String()), Before: a.Before, After: a.After, Breach: a.Breach})
	}
	return &point{Point: sdk.NewPoint(source, service, operation, r, answers...), answers: list}
}

func unary(service string, source sdk.Source, list []Method) methods.Table[point] {
	ps := methods.Table[point]{}
	for _, m := range list {
		ps.Add(m.Name, newPoint(source, service, m.Name, m.Operation, m.Rates, m.Answers))
	}
	return ps
}

func streaming(service string, source sdk.Source, streams []Stream) methods.Table[point] {
	ps := methods.Table[point]{}
	for _, s := range streams {
		for _, r := range []sdk.Rates{s.Rates, s.Send, s.Receive} {
			if r.Late != 0 || r.Twice != 0 {
				panic(fmt.Sprintf("grpcfault: the stream %s cannot be late or twice, nor its messages; unary calls can", s.Operation))
			}
		}
		if s.Send.After != 0 {
			panic(fmt.Sprintf("grpcfault: Send of the stream %s has no After: Bloodhound cannot know whether the "+
				"other side got a message before it answers; use Receive",
				s.Operation))
		}
		p := newPoint(source, service, s.Name, s.Operation, s.Rates, s.Answers)
		p.send, p.receive = sdk.NewPoint(source, service, s.Operation+"_send", s.Send), sdk.NewPoint(source, service, s.Operation+"_receive", s.Receive)
		ps.Add(s.Name, p)
	}
	return ps
}

// status returns the status of a failed call: an answer of the catalogue, or the one that gRPC reports for a broken
// connection.
func (p *point) status(c sdk.Call) *status.Status {
	if c.Answer >= 0 {
		return status.New(p.answers[c.Answer].Code, p.answers[c.Answer].Message)
	}
	return status.New(codes.Unavailable, "error reading from server: EOF")
}

// failure is the error of a call that failed, as its client sees it.
type failure struct {
	err    error // of package sdk
	status *status.Status
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// GRPCStatus is for package status.
func (f *failure) GRPCStatus() *status.Status {
	_ = f.err.Error() // the program looks at it
	return f.status
}

func (p *point) failure(c sdk.Call) error {
	s := p.status(c)
	return &failure{c.Error(s.Err()), s}
}

// UnaryClient intercepts the unary calls of a client. They fail at the rates in list, as source decides. service names
// the dependency in the ledger. UnaryClient panics if a method is invalid.
func UnaryClient(service string, source sdk.Source, list ...Method) grpc.UnaryClientInterceptor {
	ps := unary(service, source, list)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		p := ps.Lookup(method)
		if p == nil {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		call := p.Call()
		switch call.Way {
		case sdk.Before:
			return p.failure(call)
		case sdk.After:
			if err := invoke(ctx, method, req, fresh(reply), cc, silent(opts)...); err != nil {
				return err
			}
			return p.failure(call)
		case sdk.Late:
			later, err := copyOf(req)
			if err != nil {
				return err
			}
			answer, opts := fresh(reply), silent(opts)
			p.Later(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxLate)
				defer cancel()
				invoke(ctx, method, later, answer, cc, opts...) // nobody waits for its result
			})
			return p.failure(call)
		case sdk.Twice:
			invoke(ctx, method, req, fresh(reply), cc, silent(opts)...) // the caller gets the second answer
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}
}

// maxLate bounds a late call, which has its caller's deadline no more.
const maxLate = time.Minute

// fresh is a message of the type of m.
func fresh(m any) any { return reflect.New(reflect.TypeOf(m).Elem()).Interface() }

// copyOf is a message that its owner does not change.
func copyOf(m any) (any, error) {
	if p, ok := m.(proto.Message); ok {
		return proto.Clone(p), nil
	}
	return nil, status.Errorf(codes.Internal,
		"grpcfault: a %T cannot be copied for a second call, because it is not a proto.Message; set Late and "+
			"Twice of its method to 0", m)
}

// silent leaves out options that write to variables of the caller.
func silent(opts []grpc.CallOption) []grpc.CallOption {
	return slices.DeleteFunc(slices.Clone(opts), func(o grpc.CallOption) bool {
		switch o.(type) {
		case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.PeerCallOption, grpc.OnFinishCallOption:
			return true
		}
		return false
	})
}

// UnaryServer intercepts the unary calls that a server handles; see UnaryClient.
func UnaryServer(service string, source sdk.Source, list ...Method) grpc.UnaryServerInterceptor {
	ps := unary(service, source, list)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		p := ps.Lookup(info.FullMethod)
		if p == nil {
			return handle(ctx, req)
		}
		call := p.Call()
		switch call.Way {
		case sdk.Before:
			return nil, p.status(call).Err()
		case sdk.Late:
			p.Later(func() { handle(context.WithoutCancel(ctx), req) }) // nobody waits for its result
			return nil, p.status(call).Err()
		case sdk.Twice:
			first, err := copyOf(req)
			if err != nil {
				return nil, err
			}
			handle(ctx, first) // the client gets the second answer
		}
		answer, err := handle(ctx, req)
		if err == nil && call.Way == sdk.After {
			return nil, p.status(call).Err()
		}
		return answer, err
	}
}

// StreamClient intercepts the streams of a client. They fail at the rates in streams, as source decides. service names
// the dependency in the ledger. StreamClient panics if a stream is invalid.
func StreamClient(service string, source sdk.Source, streams ...Stream) grpc.StreamClientInterceptor {
	ps := streaming(service, source, streams)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption) (grpc.ClientStream, error) {
		p := ps.Lookup(method)
		if p == nil {
			return open(ctx, desc, cc, method, opts...)
		}
		call := p.Call()
		if call.Way == sdk.Before {
			return nil, p.failure(call)
		}
		ctx, cancel := context.WithCancel(ctx)
		under, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			cancel()
			return nil, err
		}
		return &clientStream{ClientStream: under, line: line{cancel: cancel}, point: p, call: call, one: !desc.ServerStreams}, nil
	}
}

// line is the connection of a stream. Two goroutines may use it, one that sends and one that receives.
type line struct {
	cancel context.CancelFunc // has the other side see that the stream broke
	mu     sync.Mutex
	err    error // after it broke
}

// cut breaks the stream, and gives the error that is left of it, the first one.
func (l *line) cut(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.cancel()
	return l.err
}

func (l *line) broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

type clientStream struct {
	grpc.ClientStream
	line
	point *point
	call  sdk.Call // of the stream as a whole
	one   bool     // the server answers one message, at the end
}

// SendMsg sends a message. After the stream broke it is io.EOF, and RecvMsg has the reason (grpc.ClientStream).
func (s *clientStream) SendMsg(m any) error {
	if s.broken() != nil {
		return io.EOF
	}
	if call := s.point.send.Call(); call.Way == sdk.Before {
		s.cut(s.point.failure(call))
		return io.EOF
	}
	return s.ClientStream.SendMsg(m)
}

// CloseSend ends what is sent (grpc.ClientStream). The server sees no such end of a stream that broke before.
func (s *clientStream) CloseSend() error {
	if s.broken() != nil {
		return nil
	}
	return s.ClientStream.CloseSend()
}

// RecvMsg receives a message (grpc.ClientStream).
func (s *clientStream) RecvMsg(m any) error {
	if err := s.broken(); err != nil {
		return err
	}
	call := s.point.receive.Call()
	if call.Way == sdk.Before {
		return s.cut(s.point.failure(call))
	}
	into := m
	if call.Way == sdk.After || s.one && s.call.Way == sdk.After {
		into = fresh(m)
	}
	err := s.ClientStream.RecvMsg(into)
	ended := err == io.EOF || err == nil && s.one
	switch {
	case err != nil && err != io.EOF:
		if broke := s.broken(); broke != nil { // while it waited
			return broke
		}
	case ended && s.call.Way == sdk.After:
		return s.cut(s.point.failure(s.call))
	case call.Way == sdk.After:
		return s.cut(s.point.failure(call))
	}
	if err != nil || ended {
		s.cancel() // of a stream that has ended: what it holds is free
	}
	return err
}

// StreamServer intercepts the streams that a server handles; see StreamClient. Send has no meaning here: to lose
// messages of a server, set Receive at its clients.
func StreamServer(service string, source sdk.Source, streams ...Stream) grpc.StreamServerInterceptor {
	for _, s := range streams {
		if s.Send != (sdk.Rates{}) {
			panic(fmt.Sprintf("grpcfault: a server cannot lose messages that it sends on the stream %s; a client "+
				"can, with Receive", s.Operation))
		}
	}
	ps := streaming(service, source, streams)
	return func(srv any, under grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		p := ps.Lookup(info.FullMethod)
		if p == nil {
			return handle(srv, under)
		}
		call := p.Call()
		if call.Way == sdk.Before {
			return p.status(call).Err()
		}
		ctx, cancel := context.WithCancel(under.Context())
		defer cancel()
		s := &serverStream{ServerStream: under, line: line{cancel: cancel}, ctx: ctx, point: p}
		err := handle(srv, s)
		if broke := s.broken(); broke != nil {
			return broke
		}
		if err == nil && call.Way == sdk.After {
			return p.status(call).Err()
		}
		return err
	}
}

type serverStream struct {
	grpc.ServerStream
	line
	ctx   context.Context
	point *point
}

// Context is cancelled when the stream breaks.
func (s *serverStream) Context() context.Context { return s.ctx }

// SendMsg sends a message (grpc.ServerStream).
func (s *serverStream) SendMsg(m any) error {
	if err := s.broken(); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

// RecvMsg receives a message. A server sees that a stream has been cancelled where it broke (grpc.ServerStream).
func (s *serverStream) RecvMsg(m any) error {
	canceled := status.Error(codes.Canceled, context.Canceled.Error())
	if s.broken() != nil {
		return canceled
	}
	call := s.point.receive.Call()
	if call.Way == sdk.After {
		m = fresh(m)
	}
	if call.Way != sdk.Before {
		if err := s.ServerStream.RecvMsg(m); err != nil && err != io.EOF || call.Way != sdk.After {
			return err
		}
	}
	s.cut(s.point.status(call).Err())
	return canceled
}
