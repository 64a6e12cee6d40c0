// Command tickers is about time and goroutines: tickers, timers, contexts, and what waits on what.
// It prints its transcript as compat.h says.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/testdata/compat/transcript"
)

func main() {
	transcript.Play(ticker, timers, contexts, clock, goroutines, threads, collector)
}

func ticker() {
	start := time.Now()
	t := time.NewTicker(10 * time.Millisecond)
	var last time.Time
	rising := true
	for i := 0; i < 5; i++ {
		at := <-t.C
		rising = rising && at.After(last)
		last = at
	}
	fmt.Println("five ticks take 50 ms:", time.Since(start) >= 50*time.Millisecond, "rising:", rising)
	t.Reset(20 * time.Millisecond)
	again := time.Now()
	<-t.C
	fmt.Println("after a reset, 20 ms:", time.Since(again) >= 19*time.Millisecond)
	t.Stop()
	select {
	case <-t.C:
		fmt.Println("a tick after the stop")
	case <-time.After(30 * time.Millisecond):
		fmt.Println("no tick after the stop")
	}
}

func timers() {
	var order []int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, ms := range []int{90, 30, 60} {
		wg.Add(1)
		time.AfterFunc(time.Duration(ms)*time.Millisecond, func() {
			mu.Lock()
			order = append(order, ms)
			mu.Unlock()
			wg.Done()
		})
	}
	wg.Wait()
	fmt.Println("order:", order)
	t := time.NewTimer(time.Hour)
	fmt.Println("stop:", t.Stop(), t.Stop(), "reset:", t.Reset(time.Millisecond))
	<-t.C
	fmt.Println("stop of what has fired:", t.Stop())
}

func contexts() {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	start := time.Now()
	<-ctx.Done()
	fmt.Println(ctx.Err(), time.Since(start) >= 19*time.Millisecond)
	parent, cancel := context.WithCancel(context.Background())
	child, stop2 := context.WithTimeout(parent, time.Hour)
	defer stop2()
	go func() { time.Sleep(5 * time.Millisecond); cancel() }()
	<-child.Done()
	fmt.Println(child.Err(), parent.Err())
}

func clock() {
	ok := true
	last := time.Now()
	for i := 0; i < 1000; i++ {
		now := time.Now()
		ok = ok && !now.Before(last) && now.Sub(last) >= 0
		last = now
	}
	fmt.Println("never backwards:", ok)
	for _, d := range []time.Duration{0, time.Microsecond, time.Millisecond, 10 * time.Millisecond} {
		start := time.Now()
		time.Sleep(d)
		fmt.Println("sleep", d, "at least:", time.Since(start) >= d)
	}
}

func goroutines() {
	const n = 200
	next := make(chan int)
	first := next
	for i := 0; i < n; i++ {
		out := make(chan int)
		go func(in, out chan int) {
			for v := range in {
				out <- v + 1
			}
			close(out)
		}(next, out)
		next = out
	}
	go func() {
		for i := 0; i < 10; i++ {
			first <- i * 1000
		}
		close(first)
	}()
	for v := range next {
		fmt.Println("through the ring:", v)
	}
	var count atomic.Int64
	var wg sync.WaitGroup
	var mu sync.RWMutex
	shared := 0
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 100; k++ {
				mu.Lock()
				shared++
				mu.Unlock()
				count.Add(1)
				if k%10 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	wg.Wait()
	fmt.Println("counted:", count.Load(), shared)
}

func threads() {
	var wg sync.WaitGroup
	tids := make(chan int, 8)
	hold := make(chan bool)
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			defer wg.Done()
			tids <- syscall.Gettid()
			<-hold
		}()
	}
	seen := map[int]bool{}
	for i := 0; i < 8; i++ {
		seen[<-tids] = true
	}
	close(hold)
	wg.Wait()
	fmt.Println("locked threads:", len(seen))
}

func collector() {
	kept := make([][]byte, 0, 100)
	for i := 0; i < 2000; i++ {
		b := make([]byte, 16<<10)
		b[i%len(b)] = byte(i)
		if i%20 == 0 {
			kept = append(kept, b)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("collected:", m.NumGC > 0, "kept:", len(kept))
}
