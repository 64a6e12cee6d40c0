// Package roles has the programs that play the nodes in the worlds of package selftest. The driver program links it, so it imports
// nothing of this module.
package roles

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	port     = "7000"
	rounds   = 60
	interval = 50 * time.Millisecond
	patience = 150 * time.Millisecond
)

// Programs maps the name of each role to its program, which reports on out.
var Programs = map[string]func(out io.Writer) error{"sleep": sleep, "echo": echo, "talk": talk, "burst": burst, "store": store, "resolve": resolve,
	"date": date, "clock": clock, "compare": compare, "memory": memory, "watch": watch,
	"counter": counter, "grow": grow, "forget": forget}

func sleep(io.Writer) error {
	time.Sleep(time.Hour)
	return nil
}

// echo answers what it gets, by TCP and by UDP.
func echo(io.Writer) error {
	l, err := net.Listen("tcp4", ":"+port)
	if err != nil {
		return err
	}
	p, err := net.ListenPacket("udp4", ":"+port)
	if err != nil {
		return err
	}
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			p.WriteTo(b[:n], from)
		}
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() { io.Copy(c, c); c.Close() }()
	}
}

// talk asks over a connection that it keeps, and says how it fared.
func talk(out io.Writer) error {
	time.Sleep(100 * time.Millisecond)
	var c net.Conn
	for range rounds {
		began := time.Now()
		word := "ok"
		err := func() (err error) {
			if c == nil {
				if c, err = net.DialTimeout("tcp4", "n1:"+port, patience); err != nil {
					return err
				}
			}
			c.SetDeadline(began.Add(patience))
			b := []byte{'x'}
			if _, err = c.Write(b); err != nil {
				return err
			}
			_, err = io.ReadFull(c, b)
			return err
		}()
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			word = "timeout"
		case errors.Is(err, syscall.ECONNREFUSED):
			word = "refused"
		case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
			word = "reset"
		case err != nil:
			word = err.Error()
		case time.Since(began) > 10*time.Millisecond:
			word = "slow"
		}
		fmt.Fprintln(out, word)
		if err != nil && c != nil {
			c.Close()
			c = nil
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

// burst sends four datagrams at a time and says in what they differ when they come back.
func burst(out io.Writer) error {
	time.Sleep(100 * time.Millisecond)
	c, err := net.Dial("udp4", "n1:"+port)
	if err != nil {
		return err
	}
	for i := range rounds {
		var sent, got [][]byte
		for j := range 4 {
			sent = append(sent, bytes.Repeat([]byte{byte(i), byte(j)}, 40))
			c.Write(sent[j])
			time.Sleep(time.Millisecond)
		}
		c.SetReadDeadline(time.Now().Add(interval))
		for {
			b := make([]byte, 1500)
			n, err := c.Read(b)
			if err != nil {
				break
			}
			got = append(got, b[:n])
		}
		word := "same"
		known := func(b []byte) bool {
			return slices.ContainsFunc(sent, func(s []byte) bool { return bytes.Equal(s, b) })
		}
		switch {
		case slices.ContainsFunc(got, func(b []byte) bool { return !known(b) }):
			word = "wrong"
		case len(got) > 4:
			word = "twice"
		case len(got) < 4:
			word = "lost"
		case !slices.EqualFunc(sent, got, bytes.Equal):
			word = "order"
		}
		fmt.Fprintln(out, word)
	}
	return sleep(out)
}

const (
	data  = "/selftest-data"
	count = "/selftest-count" // the round, synchronised
	mark  = "/selftest-mark-" // a file for each round, made after that and not synchronised
	page  = "/selftest-page"  // eight KiB of one letter
)

// store writes a file, synchronises it, reads it back and says what went wrong first. After a start it looks whether
// something is gone that an earlier life had not synchronised.
func store(out io.Writer) error {
	if last, err := os.ReadFile(count); err == nil {
		if _, err := os.Stat(mark + string(last)); err != nil {
			fmt.Fprintln(out, "lost")
		}
	}
	if b, err := os.ReadFile(page); err == nil && len(b) > 0 && bytes.Count(b, b[:1]) != len(b) {
		fmt.Fprintln(out, "torn")
	}
	content := bytes.Repeat([]byte("bloodhound"), 400)
	for i := range rounds {
		began := time.Now()
		word := "same"
		if err := roundTrip(content); err != nil {
			word = err.Error()
		} else if time.Since(began) > 4*time.Millisecond {
			word = "slow"
		}
		fmt.Fprintln(out, word)
		if word == "same" {
			if f, err := os.OpenFile(page, os.O_RDWR|os.O_CREATE, 0o666); err == nil {
				f.WriteAt(bytes.Repeat([]byte{'a' + byte(i%26)}, 8192), 0)
				f.Sync()
				f.Close()
			}
			if f, err := os.Create(count); err == nil {
				fmt.Fprintf(f, "%02d", i)
				f.Sync()
				f.Close()
				os.WriteFile(fmt.Sprintf("%s%02d", mark, i), []byte("x"), 0o666)
			}
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

func roundTrip(content []byte) error {
	f, err := os.OpenFile(data, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("open: %w", cause(err))
	}
	defer f.Close()
	n, err := syscall.Write(int(f.Fd()), content)
	switch {
	case err != nil:
		return fmt.Errorf("write: %w", err)
	case n < len(content):
		return errors.New("short")
	}
	if err := syscall.Fsync(int(f.Fd())); err != nil {
		return fmt.Errorf("fsync: %w", err)
	}
	got := make([]byte, len(content)+1)
	n, err = syscall.Pread(int(f.Fd()), got, 0)
	switch {
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case !bytes.Equal(got[:n], content):
		return errors.New("wrong")
	}
	return nil
}

// cause is the errno behind an error.
func cause(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}

// resolve asks for a name again and again.
func resolve(out io.Writer) error {
	time.Sleep(100 * time.Millisecond)
	for range rounds {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := net.DefaultResolver.LookupHost(ctx, "n3")
		cancel()
		if err != nil {
			fmt.Fprintln(out, "failed")
		} else {
			fmt.Fprintln(out, "found")
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

// date compares the date with the time since the machine was started, which the fault does not change.
func date(out io.Writer) error {
	ahead := func() int64 { return read(unix.CLOCK_REALTIME) - read(unix.CLOCK_MONOTONIC) }
	begin := ahead()
	for range rounds {
		if d := time.Duration(ahead() - begin); d.Abs() < 10*time.Millisecond {
			fmt.Fprintln(out, "right")
		} else {
			fmt.Fprintln(out, "wrong")
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

// clock answers with its time since the machine was started, and compare says whether as much time passes there as
// here.
func clock(io.Writer) error {
	p, err := net.ListenPacket("udp4", ":"+port)
	if err != nil {
		return err
	}
	b := make([]byte, 8)
	for {
		_, from, err := p.ReadFrom(b)
		if err != nil {
			return err
		}
		p.WriteTo(binary.LittleEndian.AppendUint64(nil, uint64(read(unix.CLOCK_MONOTONIC))), from)
	}
}

func compare(out io.Writer) error {
	time.Sleep(100 * time.Millisecond)
	c, err := net.Dial("udp4", "n1:"+port)
	if err != nil {
		return err
	}
	var here, there int64
	for i := range rounds {
		b := make([]byte, 8)
		c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
		h, t := read(unix.CLOCK_MONOTONIC), int64(binary.LittleEndian.Uint64(b))
		switch d := time.Duration((h - here) - (t - there)); {
		case i == 0:
		case d.Abs() < 2*time.Millisecond:
			fmt.Fprintln(out, "agree")
		default:
			fmt.Fprintln(out, "differ")
		}
		here, there = h, t
		time.Sleep(interval)
	}
	return sleep(out)
}

// memory asks for a mebibyte again and again, and gives it back.
func memory(out io.Writer) error {
	for range rounds {
		b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			fmt.Fprintln(out, "none")
		} else {
			unix.Munmap(b)
			fmt.Fprintln(out, "some")
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

// watch says how much memory the machine has left.
func watch(out io.Writer) error {
	for range rounds {
		text, err := os.ReadFile("/proc/meminfo")
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(text), "MemAvailable:")
		var kib int64
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			return err
		}
		if kib < 1<<20 {
			fmt.Fprintln(out, "little")
		} else {
			fmt.Fprintln(out, "plenty")
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

// read reads a clock, in nanoseconds.
func read(clock int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic("selftest: " + err.Error())
	}
	return t.Nano()
}

// sum is the file of the counter.
const sum = "/var/lib/bloodhound-selftest-sum"

// counter counts in a file, and tells who asks by TCP.
func counter(io.Writer) error {
	l, err := net.Listen("tcp4", ":"+port)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		n := 0
		if b, err := os.ReadFile(sum); err == nil {
			fmt.Sscan(string(b), &n)
		}
		n++
		if err := os.WriteFile(sum, []byte(fmt.Sprint(n)), 0o666); err != nil {
			return err
		}
		fmt.Fprintln(c, n)
		c.Close()
	}
}

// grow asks a counter and says whether it counts on. It says nothing of a counter that does not answer.
func grow(out io.Writer) error {
	time.Sleep(100 * time.Millisecond)
	last := 0
	for range rounds {
		if c, err := net.DialTimeout("tcp4", "n1:"+port, patience); err == nil {
			c.SetDeadline(time.Now().Add(patience))
			n := 0
			if _, err := fmt.Fscan(c, &n); err == nil && n > last {
				fmt.Fprintln(out, "more")
			} else if err == nil {
				fmt.Fprintln(out, "less")
			}
			if n > 0 {
				last = n
			}
			c.Close()
		}
		time.Sleep(interval)
	}
	return sleep(out)
}

// forget removes the file of the counter.
func forget(io.Writer) error { return os.Remove(sum) }
