// Service is a live process for tests: goroutines that allocate and change a table, a listener, an open file, and memory that it shares.
// It makes checkpoints of itself, and prints what came of each as a line of JSON.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

var (
	table  = map[int]string{}
	lock   sync.Mutex
	hits   atomic.Int64
	shared []byte
	file   *os.File
	conn   net.Conn
)

// answer is the report of an explorer.
type answer struct {
	Table  uint64 // a digest of the copy's table
	Wall   int64
	Errors map[string]string
}

func digest() uint64 {
	h := fnv.New64a()
	for i := range len(table) {
		fmt.Fprintln(h, i, table[i])
	}
	return h.Sum64()
}

func explore(input []byte) (result []byte) {
	switch string(input) {
	case "loop":
		for {
		}
	case "block":
		select {}
	case "crash":
		var m map[string]int
		m["x"] = 1
	case "overflow":
		debug.SetMaxStack(1 << 20)
		return []byte(fmt.Sprint(deep(1)))
	case "recover":
		defer func() {
			recover()
			result = []byte("recovered")
		}()
		panic("a panic")
	case "exit":
		os.Exit(0)
	case "much":
		return make([]byte, 8<<20)
	}
	a := answer{Table: digest(), Wall: time.Now().UnixNano(), Errors: map[string]string{}}
	for range 1000 { // garbage
		table[len(table)] = fmt.Sprint("of the copy ", len(table))
	}
	copy(shared, "changed by a copy")
	attempt := func(name string, err error) { a.Errors[name] = fmt.Sprint(err) }
	_, err := file.Write([]byte("leak"))
	attempt("file", err)
	_, err = conn.Write([]byte("leak"))
	attempt("socket", err)
	_, err = net.Dial("tcp", "127.0.0.1:1")
	attempt("dial", err)
	_, err = os.Create("/tmp/bloodhound-leak")
	attempt("create", err)
	attempt("kill", unix.Kill(os.Getppid(), unix.SIGKILL))
	_, err = os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	attempt("start", err)
	var random [8]byte
	rand.Read(random[:])
	b, _ := json.Marshal(a)
	return b
}

func deep(n int) int { return deep(n+1) + n }

func main() {
	checkpoints := flag.Int("checkpoints", 1, "how many")
	entries := flag.Int("entries", 1000, "of the table")
	hold := flag.Bool("hold", false, "have explorers wait until they are killed")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() {
		for {
			c, err := l.Accept()
			check(err)
			go func() {
				var b [64]byte
				for {
					n, err := c.Read(b[:])
					if err != nil {
						return
					}
					fmt.Printf("{\"received\": %q}\n", b[:n])
				}
			}()
		}
	}()
	conn, err = net.Dial("tcp", l.Addr().String())
	check(err)
	file, err = os.CreateTemp("", "bloodhound-service-*")
	check(err)
	defer os.Remove(file.Name())
	shared, err = unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
	check(err)
	for i := range *entries {
		table[i] = fmt.Sprint("value ", i)
	}
	for range 4 {
		go func() {
			var keep [64][]byte
			for i := 0; ; i++ {
				keep[i%len(keep)] = make([]byte, 100+i%5000)
				hits.Add(1)
				if i%10_000 == 0 { // other threads take locks of the runtime when they sleep
					time.Sleep(time.Microsecond)
				}
			}
		}()
	}
	out := json.NewEncoder(os.Stdout)
	for range *checkpoints {
		before, hit := digest(), hits.Load()
		c, err := checkpoint.Capture(&checkpoint.Plan{Run: explore, MemoryBytes: 1 << 30})
		if err == nil {
			err = c.Ready()
		}
		check(err)
		if *hold {
			check(out.Encode(map[string]int{"checkpoint": c.PID}))
			_, err := c.Try([]byte("loop"), time.Hour)
			check(out.Encode(map[string]any{"error": fmt.Sprint(err), "ended": errors.Is(err, checkpoint.ErrEnded)}))
			c.Close()
			continue
		}
		for _, input := range append(flag.Args(), "") {
			now := time.Now()
			patience := time.Minute
			if input == "loop" || input == "block" { // which do not end
				patience = 2 * time.Second
			}
			o, err := c.Try([]byte(input), patience)
			check(err)
			line := map[string]any{"input": input, "status": o.Status, "result_bytes": len(o.Result), "log": string(o.Log), "faults": o.Faults, "pause_us": c.Paused.Microseconds(), "took_us": time.Since(now).Microseconds()}
			if input == "" {
				var a answer
				if err := json.Unmarshal(o.Result, &a); err != nil {
					log.Fatalf("%v: %+v\n%s", err, o.Status, o.Log)
				}
				line["answer"], line["same_table"], line["before"] = a, a.Table == before && digest() == before, a.Wall < now.UnixNano()
			}
			check(out.Encode(line))
		}
		for hits.Load() == hit { // the live process goes on
			time.Sleep(time.Microsecond)
		}
		check(c.Close())
	}
	info, err := file.Stat()
	check(err)
	check(out.Encode(map[string]any{"file_bytes": info.Size(), "shared": string(shared[:1])}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
