package grpcfault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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

	"github.com/bloodhound-dst/bloodhound/sdk"
	"github.com/bloodhound-dst/bloodhound/sdk/grpcfault"
)

// counter is a service that counts how often each request took effect.
type counter struct {
	pb.UnimplementedTestServiceServer
	mu      sync.Mutex
	effects map[string]int
}

func (c *counter) did(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.effects[id]++
}

func (c *counter) effectsOf(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.effects[id]
}

func (c *counter) UnaryCall(_ context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	c.did(string(r.Payload.Body))
	return &pb.SimpleResponse{Payload: r.Payload}, nil
}

// StreamingInputCall takes effect when the client has sent all.
func (c *counter) StreamingInputCall(s grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	all := ""
	for {
		m, err := s.Recv()
		if err == io.EOF {
			c.did(all)
			return s.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(len(all))})
		} else if err != nil {
			return err
		}
		all += string(m.Payload.Body)
	}
}

// FullDuplexCall answers each message by itself.
func (c *counter) FullDuplexCall(s grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		m, err := s.Recv()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		c.did(string(m.Payload.Body))
		if err := s.Send(&pb.StreamingOutputCallResponse{Payload: m.Payload}); err != nil {
			return err
		}
	}
}

// host is a test, or a run.
type host interface {
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// serve starts the service, with options, and gives a client of it.
func serve(r host, server []grpc.ServerOption, client ...grpc.DialOption) (*counter, pb.TestServiceClient) {
	c := &counter{effects: map[string]int{}}
	s := grpc.NewServer(server...)
	pb.RegisterTestServiceServer(s, c)
	at := bufconn.Listen(1 << 16)
	go s.Serve(at)
	r.Cleanup(s.Stop)
	client = append(client, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return at.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///counter", client...)
	if err != nil {
		r.Fatalf("NewClient: %v", err)
	}
	r.Cleanup(func() { conn.Close() })
	return c, pb.NewTestServiceClient(conn)
}

func payload(text string) *pb.Payload { return &pb.Payload{Body: []byte(text)} }

// known says whether err is one that the service may give.
func known(err error) bool {
	switch status.Code(err) {
	case codes.OK, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}

var (
	full    = grpcfault.Answer{Code: codes.ResourceExhausted, Message: "come back later", Before: 0.03}
	aborted = grpcfault.Answer{Code: codes.Aborted, Message: "who knows", Before: 0.02, After: 0.02, Breach: true}
	lost    = sdk.Rates{Before: 0.05, After: 0.05}
)

// Each call that fails has had the effect that its fault says: a million calls in the long form.
func TestEffectsAreThoseOfTheFaults(t *testing.T) {
	calls := 3_000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		calls = 1_000_000
	}
	rates := sdk.Rates{Before: 0.05, After: 0.05, Late: 0.02, Twice: 0.05, Slow: 0.01, Delay: time.Millisecond}
	sdk.Campaign{Runs: 2}.Test(t, func(r *sdk.Run) {
		c, client := serve(r, nil, grpc.WithUnaryInterceptor(grpcfault.UnaryClient("pay", r,
			grpcfault.Method{Name: "*", Operation: "other"},
			grpcfault.Method{Name: "/grpc.testing.TestService/UnaryCall", Operation: "charge", Rates: rates, Answers: []grpcfault.Answer{full, aborted}})))
		type effect struct{ least, most int }
		want := map[string]effect{}
		request := &pb.SimpleRequest{}
		for i := range calls {
			id := fmt.Sprint("charge ", i)
			request.Payload = payload(id) // one request, which the client changes: a late one must be another
			answer, err := client.UnaryCall(r.Context(), request)
			e := effect{1, 2} // a call that was made twice, and succeeded, has no error
			switch kind := sdk.Kind(err); {
			case err == nil && string(answer.GetPayload().GetBody()) != id:
				r.Errorf("the answer to %s is %v", id, answer)
			case err != nil && (kind == "" || !known(err) || (status.Code(err) == codes.Aborted) != strings.Contains(kind, "_breach_aborted_")):
				r.Fatalf("an error that no fault made: %v", err)
			case strings.HasSuffix(kind, "_before"):
				e = effect{}
			case err != nil:
				e.most = 1
			}
			want[id] = e
		}
		r.Quiet()
		for id, e := range want {
			if n := c.effectsOf(id); n < e.least || n > e.most {
				r.Errorf("%s took effect %d times, not %d to %d", id, n, e.least, e.most)
			}
		}
	})
}

// A server that fails looks to its clients as one whose connections end.
func TestServer(t *testing.T) {
	rates := sdk.Rates{Before: 0.05, After: 0.05, Late: 0.05, Twice: 0.05, Slow: 0.05, Delay: time.Millisecond}
	sdk.Campaign{Runs: 5}.Test(t, func(r *sdk.Run) {
		c, client := serve(r, []grpc.ServerOption{grpc.UnaryInterceptor(grpcfault.UnaryServer("pay", r,
			grpcfault.Method{Name: "/grpc.testing.TestService/*", Operation: "charge", Rates: rates, Answers: []grpcfault.Answer{full, aborted}}))})
		errs := map[string]error{}
		for i := range 200 {
			id := fmt.Sprint("charge ", i)
			_, errs[id] = client.UnaryCall(r.Context(), &pb.SimpleRequest{Payload: payload(id)})
		}
		r.Quiet()
		for id, err := range errs {
			switch n := c.effectsOf(id); {
			case !known(err), err == nil && n != 1 && n != 2, err != nil && n > 1, status.Code(err) == codes.ResourceExhausted && n != 0:
				r.Errorf("%s took effect %d times, with the error %v", id, n, err)
			}
		}
	})
}

// Streams break as their faults say: what was sent takes effect if the server got all of it.
func TestStreams(t *testing.T) {
	on := grpcfault.Stream{Name: "/grpc.testing.TestService/StreamingInputCall", Operation: "upload", Rates: lost,
		Send: sdk.Rates{Before: 0.05}, Receive: lost, Answers: []grpcfault.Answer{full, aborted}}
	talk := on
	talk.Name, talk.Operation = "/grpc.testing.TestService/FullDuplexCall", "talk"
	sdk.Campaign{Runs: 20}.Test(t, func(r *sdk.Run) {
		c, client := serve(r, nil, grpc.WithStreamInterceptor(grpcfault.StreamClient("pay", r, on, talk)))
		for i := range 20 {
			a, b := fmt.Sprint("first ", i), fmt.Sprint(", second ", i)
			s, err := client.StreamingInputCall(r.Context())
			if err == nil {
				for _, text := range []string{a, b} {
					if err := s.Send(&pb.StreamingInputCallRequest{Payload: payload(text)}); err != nil && err != io.EOF {
						r.Errorf("Send: %v", err)
					}
				}
				var answer *pb.StreamingInputCallResponse
				if answer, err = s.CloseAndRecv(); err == nil && answer.AggregatedPayloadSize != int32(len(a+b)) {
					r.Errorf("the answer is %v", answer)
				}
			}
			if !known(err) || err != nil && sdk.Kind(err) == "" {
				r.Fatalf("an error that no fault made: %v", err)
			}
			n, kind := c.effectsOf(a+b), sdk.Kind(err)
			switch {
			case err == nil && n != 1, strings.HasSuffix(kind, "_after") && n != 1,
				strings.HasSuffix(kind, "_before") && kind != "pay_upload_receive_before" && n != 0, n > 1:
				r.Errorf("an upload took effect %d times, and ended with %v (%s)", n, err, kind)
			}
		}
		for i := range 20 {
			if err := converse(r, client, c, i); err != nil && (!known(err) || sdk.Kind(err) == "") {
				r.Errorf("a stream ended with %v", err)
			}
		}
	})
}

// converse sends and receives at the same time. What it receives is what it sent, in order; what was received had its effect.
func converse(r *sdk.Run, client pb.TestServiceClient, c *counter, i int) error {
	s, err := client.FullDuplexCall(r.Context())
	if err != nil {
		return err
	}
	text := func(k int) string { return fmt.Sprint("line ", i, " ", k) }
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for k := range 5 {
			if s.Send(&pb.StreamingOutputCallRequest{Payload: payload(text(k))}) != nil {
				return
			}
		}
		s.CloseSend()
	}()
	defer func() { <-sent }()
	for k := 0; ; k++ {
		m, err := s.Recv()
		switch {
		case err == io.EOF && k != 5:
			r.Errorf("a stream ended after %d messages of 5, without an error", k)
			return nil
		case err == io.EOF:
			return nil
		case err != nil:
			if _, again := s.Recv(); !errors.Is(again, err) {
				r.Errorf("after %v a stream gives %v", err, again)
			}
			return err
		case string(m.Payload.Body) != text(k) || c.effectsOf(text(k)) != 1:
			r.Errorf("message %d is %q, which took effect %d times", k, m.Payload.Body, c.effectsOf(text(k)))
		}
	}
}

// A server's streams break, and its handlers see that.
func TestStreamsOfServers(t *testing.T) {
	sdk.Campaign{Runs: 20}.Test(t, func(r *sdk.Run) {
		c, client := serve(r, []grpc.ServerOption{grpc.StreamInterceptor(grpcfault.StreamServer("pay", r,
			grpcfault.Stream{Name: "/grpc.testing.TestService/FullDuplexCall", Operation: "talk", Rates: lost, Receive: lost,
				Answers: []grpcfault.Answer{full, aborted}}))})
		for i := range 20 {
			if err := converse(r, client, c, i); !known(err) {
				r.Errorf("a stream ended with %v", err)
			}
		}
		r.Quiet()
		if err := converse(r, client, c, 100); err != nil {
			r.Errorf("after the faults, a stream ends with %v", err)
		}
	})
}

// What cannot be is refused.
func TestRefused(t *testing.T) {
	for want, make := range map[string]func(){
		"is not a method":    func() { grpcfault.UnaryClient("pay", nil, grpcfault.Method{Name: "Charge", Operation: "charge"}) },
		"needs an Operation": func() { grpcfault.UnaryServer("pay", nil, grpcfault.Method{Name: "*"}) },
		"there twice": func() {
			grpcfault.UnaryClient("pay", nil, grpcfault.Method{Name: "*", Operation: "a"}, grpcfault.Method{Name: "*", Operation: "b"})
		},
		"which is not an error": func() {
			grpcfault.UnaryClient("pay", nil, grpcfault.Method{Name: "*", Operation: "a", Answers: []grpcfault.Answer{{}}})
		},
		"is not between": func() {
			grpcfault.UnaryClient("pay", nil, grpcfault.Method{Name: "*", Operation: "a", Rates: sdk.Rates{Slow: 2}})
		},
		"cannot be late": func() {
			grpcfault.StreamClient("pay", nil, grpcfault.Stream{Name: "*", Operation: "a", Receive: sdk.Rates{Twice: 1}})
		},
		"has no After": func() {
			grpcfault.StreamClient("pay", nil, grpcfault.Stream{Name: "*", Operation: "a", Send: sdk.Rates{After: 1}})
		},
		"a server cannot lose": func() {
			grpcfault.StreamServer("pay", nil, grpcfault.Stream{Name: "*", Operation: "a", Send: sdk.Rates{Before: 1}})
		},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), want) {
					t.Errorf("not %q, but %v", want, p)
				}
			}()
			make()
		}()
	}
	// A message that is no proto.Message cannot be sent later.
	late := grpcfault.UnaryClient("pay", always{}, grpcfault.Method{Name: "*", Operation: "a", Rates: sdk.Rates{Late: 1}})
	if err := late(t.Context(), "/a/b", &struct{}{}, &struct{}{}, nil, nil); status.Code(err) != codes.Internal ||
		!strings.Contains(err.Error(), "not a proto.Message") {
		t.Errorf("a late message of another kind: %v", err)
	}
}

// always has each fault happen.
type always struct{}

func (always) Mishap(string, float64) bool { return true }
func (always) Sleep(time.Duration)         {}
func (always) Later(time.Duration, func()) {}

func BenchmarkOff(b *testing.B) {
	plain := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	nothing := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	for name, call := range map[string]grpc.UnaryClientInterceptor{"plain": plain,
		"wrapped": grpcfault.UnaryClient("pay", nil, grpcfault.Method{Name: "/a/b", Operation: "a"})} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := call(b.Context(), "/a/b", nil, nil, nil, nothing); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
