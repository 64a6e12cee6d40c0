package grpccount_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/bloodhound-dst/bloodhound/sdk/grpcfault/grpccount"
)

// service answers what a request asks for, and waits where that is to be cancelled.
type service struct {
	pb.UnimplementedTestServiceServer
	arrived chan bool
}

func (s *service) answer(ctx context.Context, code int32) error {
	switch codes.Code(code) {
	case codes.OK:
		return nil
	case codes.Canceled, codes.DeadlineExceeded:
		s.arrived <- true
		<-ctx.Done()
	}
	return status.Error(codes.Code(code), "no")
}

func (s *service) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return &pb.SimpleResponse{}, s.answer(ctx, r.ResponseStatus.GetCode())
}

func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	for {
		if _, err := stream.Recv(); err == io.EOF {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{})
		} else if err != nil {
			return err
		}
	}
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	m, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	return s.answer(stream.Context(), m.ResponseStatus.GetCode())
}

// serve starts the service, and gives it with a counter, what that counts of charges, and a client.
func serve(t *testing.T) (*service, func() string, pb.TestServiceClient) {
	counter := grpccount.New(grpccount.Operation{Name: "charge", Method: "/grpc.testing.TestService/*", Codes: []codes.Code{codes.ResourceExhausted}},
		grpccount.Operation{Name: "other", Method: "*"})
	s := &service{arrived: make(chan bool, 1)}
	server := grpc.NewServer()
	pb.RegisterTestServiceServer(server, s)
	at := bufconn.Listen(1 << 16)
	go server.Serve(at)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:///pay", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(counter.UnaryClient()),
		grpc.WithStreamInterceptor(counter.StreamClient()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return at.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	counts := func() string {
		text, err := json.Marshal(counter)
		if err != nil {
			t.Fatal(err)
		}
		charge, _, _ := strings.Cut(strings.TrimPrefix(string(text), `{"operations":{"charge":`), `,"other"`)
		return charge
	}
	return s, counts, pb.NewTestServiceClient(conn)
}

// Each answer of a real server is counted as what it is, to a call and to a stream, and passes as it came.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		code codes.Code
		want string
	}{
		{codes.OK, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
		{codes.ResourceExhausted, `{"calls":1,"lost":0,"failures":{"ResourceExhausted":1},"breaches":{"codes":{}}}`},
		{codes.DataLoss, `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"DataLoss":1}}}`},
		{codes.Code(77), `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{"Unknown":1}}}`},
		{codes.Unavailable, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
		{codes.DeadlineExceeded, `{"calls":1,"lost":1,"failures":{},"breaches":{"codes":{}}}`},
		{codes.Canceled, `{"calls":0,"lost":0,"failures":{},"breaches":{"codes":{}}}`},
	} {
		for what, call := range map[string]func(context.Context, pb.TestServiceClient) error{
			"a call": func(ctx context.Context, client pb.TestServiceClient) error {
				_, err := client.UnaryCall(ctx, &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: int32(c.code)}})
				return err
			},
			"a stream": func(ctx context.Context, client pb.TestServiceClient) error {
				s, err := client.FullDuplexCall(ctx)
				if err != nil {
					return err
				}
				s.Send(&pb.StreamingOutputCallRequest{ResponseStatus: &pb.EchoStatus{Code: int32(c.code)}}) // Recv has the reason where it fails
				for err == nil {
					_, err = s.Recv()
				}
				if err == io.EOF {
					return nil
				}
				s.Recv() // which does not count it again
				return err
			},
		} {
			s, counts, client := serve(t)
			ctx, cancel := context.WithCancel(t.Context())
			switch c.code {
			case codes.Canceled:
				go func() { <-s.arrived; cancel() }()
			case codes.DeadlineExceeded:
				ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
			}
			if err := call(ctx, client); status.Code(err) != c.code {
				t.Errorf("the program sees %v, not %v", err, c.code)
			}
			cancel()
			if got := counts(); got != c.want {
				t.Errorf("%s with %v is counted as %s\nnot as %s", what, c.code, got, c.want)
			}
		}
	}
}

// A stream counts once, with its only answer too, and not where the program leaves it.
func TestStreams(t *testing.T) {
	_, counts, client := serve(t)
	s, err := client.StreamingInputCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := client.FullDuplexCall(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if got := counts(); got != `{"calls":1,"lost":0,"failures":{},"breaches":{"codes":{}}}` {
		t.Errorf("the counts are %s", got)
	}
}

// Errors of contexts that other interceptors return are those of lost and cancelled calls.
func TestErrorsOfContexts(t *testing.T) {
	counter := grpccount.New(grpccount.Operation{Name: "charge", Method: "*"})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx context.Context
		err error
	}{{t.Context(), context.DeadlineExceeded}, {cancelled, context.Canceled}, {cancelled, nil}} {
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return c.err }
		if err := counter.UnaryClient()(c.ctx, "/a/b", nil, nil, nil, invoke); err != c.err {
			t.Errorf("the program sees %v, not %v", err, c.err)
		}
	}
	if text, err := json.Marshal(counter); err != nil ||
		string(text) != `{"operations":{"charge":{"calls":2,"lost":1,"failures":{},"breaches":{"codes":{}}}}}` {
		t.Errorf("%s, %v", text, err)
	}
}

// Calls at the same time all count.
func TestManyAtOnce(t *testing.T) {
	_, counts, client := serve(t)
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 200 {
				client.UnaryCall(t.Context(), &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: int32(codes.DataLoss)}})
			}
		})
	}
	calls.Wait()
	if got := counts(); got != `{"calls":800,"lost":0,"failures":{},"breaches":{"codes":{"DataLoss":800}}}` {
		t.Errorf("the counts are %s", got)
	}
}

// Operations that cannot be are refused.
func TestRefused(t *testing.T) {
	for want, list := range map[string][]grpccount.Operation{
		"has no name":         {{Method: "*"}},
		"two operations are":  {{Name: "a", Method: "*"}, {Name: "a", Method: "/a/b"}},
		"is not a method":     {{Name: "a", Method: "Charge"}},
		"is there twice":      {{Name: "a", Method: "*"}, {Name: "b", Method: "*"}},
		"is not a gRPC error": {{Name: "a", Method: "*", Codes: []codes.Code{codes.OK}}},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), want) {
					t.Errorf("not %q, but %v", want, p)
				}
			}()
			grpccount.New(list...)
		}()
	}
}

// A program in production does not get the flags of package testing, nor faults.
func TestNoTestingInProduction(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for pkg := range strings.Lines(string(out)) {
		if pkg = strings.TrimSpace(pkg); pkg == "testing" || strings.HasSuffix(pkg, "/sdk") {
			t.Errorf("grpccount imports %s", pkg)
		}
	}
}

func BenchmarkOff(b *testing.B) {
	plain := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	nothing := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	for name, call := range map[string]grpc.UnaryClientInterceptor{"plain": plain,
		"wrapped": grpccount.New(grpccount.Operation{Name: "a", Method: "/a/b"}).UnaryClient()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := call(b.Context(), "/a/b", nil, nil, nil, nothing); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
