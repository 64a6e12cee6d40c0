// Command nethttp is an HTTP server and its clients in one process: goroutines, keep-alive, streaming, deadlines.
// It prints its transcript as compat.h says.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/testdata/compat/transcript"
)

func main() {
	transcript.Play(get, parallel, stream, cancel, deadline, refused, reset, lookup, udp, unix)
}

func serve(h http.HandlerFunc) (url string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	return "http://" + l.Addr().String(), func() {
		ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		fmt.Println("shutdown:", s.Shutdown(ctx))
	}
}

func client() *http.Client { return &http.Client{Transport: &http.Transport{}} }

func get() {
	url, stop := serve(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		fmt.Fprintf(w, "%s %d", r.URL.Path, len(body))
	})
	c := client()
	for _, size := range []int{0, 10, 100_000, 1_000_000} {
		resp, err := c.Post(url+"/x", "text/plain", strings.NewReader(strings.Repeat("a", size)))
		if err != nil {
			fmt.Println("post:", err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println("post:", resp.StatusCode, resp.Header.Get("X-Method"), string(body), err)
	}
	c.CloseIdleConnections()
	stop()
}

func parallel() {
	var mu sync.Mutex
	seen, conns := map[string]int{}, map[string]bool{}
	url, stop := serve(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path]++
		conns[r.RemoteAddr] = true
		mu.Unlock()
		io.WriteString(w, r.URL.Path)
	})
	c := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 4, MaxIdleConnsPerHost: 4}}
	var wg sync.WaitGroup
	wrong := 0
	for i := 0; i < 20; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 5; k++ {
				path := fmt.Sprintf("/%d/%d", i, k)
				resp, err := c.Get(url + path)
				if err != nil {
					panic(err)
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(body) != path {
					mu.Lock()
					wrong++
					mu.Unlock()
				}
			}
		}()
	}
	wg.Wait()
	fmt.Println("requests:", len(seen), "wrong:", wrong, "connections within the limit:", len(conns) >= 1 && len(conns) <= 4)
	c.CloseIdleConnections()
	stop()
}

func stream() {
	step := make(chan bool)
	url, stop := serve(func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 3; i++ {
			<-step
			fmt.Fprintf(w, "chunk %d\n", i)
			w.(http.Flusher).Flush()
		}
	})
	c := client()
	go func() { step <- true }()
	resp, err := c.Get(url)
	if err != nil {
		panic(err)
	}
	r := bufio.NewReader(resp.Body)
	for i := 0; i < 3; i++ {
		line, err := r.ReadString('\n')
		fmt.Printf("%q %v\n", line, err)
		if i < 2 {
			step <- true
		}
	}
	_, err = r.ReadByte()
	fmt.Println("end:", err)
	resp.Body.Close()
	c.CloseIdleConnections()
	stop()
}

func cancel() {
	gone := make(chan error, 1)
	url, stop := serve(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		gone <- r.Context().Err()
	})
	ctx, done := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer done()
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	start := time.Now()
	_, err := client().Do(req)
	fmt.Println("client:", errors.Is(err, context.DeadlineExceeded), "waited:", time.Since(start) >= 50*time.Millisecond)
	fmt.Println("server:", <-gone)
	stop()
}

func deadline() {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	s, _ := l.Accept()
	b := make([]byte, 10)
	c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	_, err = c.Read(b)
	fmt.Println("read:", errors.Is(err, os.ErrDeadlineExceeded))
	c.SetReadDeadline(time.Time{})
	go func() { time.Sleep(10 * time.Millisecond); s.Write([]byte("late")) }()
	n, err := c.Read(b)
	fmt.Println("read:", string(b[:n]), err)
	c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	total, big := 0, make([]byte, 1<<20)
	for err == nil {
		n, err = c.Write(big)
		total += n
	}
	fmt.Println("write until full:", total > 0, errors.Is(err, os.ErrDeadlineExceeded))
	l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Millisecond))
	_, err = l.Accept()
	fmt.Println("accept:", errors.Is(err, os.ErrDeadlineExceeded))
	go func() { time.Sleep(20 * time.Millisecond); c.Close() }()
	c.SetReadDeadline(time.Time{})
	_, err = c.Read(b)
	fmt.Println("read of what is closed meanwhile:", errors.Is(err, net.ErrClosed))
	s.Close()
	l.Close()
}

func refused() {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	addr := l.Addr().String()
	l.Close()
	_, err := net.Dial("tcp", addr)
	fmt.Println("dial:", errors.Is(err, syscall.ECONNREFUSED))
	a, _ := net.Listen("tcp", addr)
	_, err = net.Listen("tcp", addr)
	fmt.Println("listen twice:", errors.Is(err, syscall.EADDRINUSE))
	a.Close()
}

func reset() {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	c, _ := net.Dial("tcp", l.Addr().String())
	s, _ := l.Accept()
	s.(*net.TCPConn).SetLinger(0)
	s.Close()
	_, err := c.Read(make([]byte, 1))
	fmt.Println("read:", errors.Is(err, syscall.ECONNRESET))
	_, err = c.Write([]byte("x"))
	fmt.Println("write:", errors.Is(err, syscall.EPIPE))
	c.Close()
	c, _ = net.Dial("tcp", l.Addr().String())
	s, _ = l.Accept()
	s.Write([]byte("bye"))
	s.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(c)
	fmt.Println("half-closed:", string(all), err)
	n, err := c.Write([]byte("still"))
	fmt.Println("write:", n, err)
	c.Close()
	all, err = io.ReadAll(s)
	fmt.Println("other side:", string(all), err)
	s.Close()
	l.Close()
}

func lookup() {
	ips, err := net.LookupIP("localhost")
	loopback := len(ips) > 0
	for _, ip := range ips {
		loopback = loopback && ip.IsLoopback()
	}
	fmt.Println("localhost:", loopback, err)
	ctx, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	addrs, err := net.DefaultResolver.LookupHost(ctx, "127.0.0.1")
	fmt.Println("an address:", addrs, err)
	ifs, err := net.Interfaces()
	found := false
	for _, i := range ifs {
		found = found || i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0
	}
	fmt.Println("a loopback interface:", found, err)
}

func udp() {
	s, _ := net.ListenPacket("udp", "127.0.0.1:0")
	c, err := net.Dial("udp", s.LocalAddr().String())
	if err != nil {
		panic(err)
	}
	c.Write([]byte("ping"))
	b := make([]byte, 100)
	n, from, err := s.ReadFrom(b)
	fmt.Println("server:", string(b[:n]), err, "from the client:", from.String() == c.LocalAddr().String())
	s.WriteTo([]byte("pong"), from)
	n, err = c.Read(b)
	fmt.Println("client:", string(b[:n]), err)
	s.Close()
	c.Write([]byte("anyone?"))
	c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, err = c.Read(b)
	fmt.Println("read:", errors.Is(err, syscall.ECONNREFUSED))
	c.Close()
}

func unix() {
	l, err := net.Listen("unix", "sock")
	fmt.Println("listen:", err)
	go func() {
		c, _ := l.Accept()
		io.Copy(c, c)
		c.Close()
	}()
	c, err := net.Dial("unix", "sock")
	fmt.Println("dial:", err)
	c.Write([]byte("echo"))
	c.(*net.UnixConn).CloseWrite()
	all, err := io.ReadAll(c)
	fmt.Println("echoed:", string(all), err)
	c.Close()
	l.Close()
	_, err = os.Stat("sock")
	fmt.Println("removed:", os.IsNotExist(err))
}
