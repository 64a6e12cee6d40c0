// Command process starts copies of itself and signals them: os/exec, pipes, exit codes, signal.Notify.
// It prints its transcript as compat.h says.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/testdata/compat/transcript"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		child(os.Args[2])
		return
	}
	transcript.Play(output, stdin, exits, extra, timeout, missing, notify, terminate, many, shell)
}

func self(what string) *exec.Cmd { return exec.Command("/proc/self/exe", "child", what) }

func child(what string) {
	switch what {
	case "hello":
		fmt.Println("hello", os.Getenv("COLOUR"), len(os.Args))
		fmt.Fprintln(os.Stderr, "and an error")
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "exit":
		os.Exit(7)
	case "panic":
		os.Stderr.Close()
		panic("on purpose")
	case "wait":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "term":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		fmt.Println("got", <-c)
		os.Exit(3)
	case "extra":
		io.WriteString(os.NewFile(3, "extra"), "through descriptor 3")
	case "where":
		dir, _ := os.Getwd()
		fmt.Println(dir[strings.LastIndex(dir, "/")+1:])
	}
}

func output() {
	c := self("hello")
	c.Env = []string{"COLOUR=red"}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	fmt.Printf("%q %q %v\n", out, stderr.String(), err)
	os.Mkdir("sub", 0o777)
	c = self("where")
	c.Dir = "sub"
	out, err = c.CombinedOutput()
	fmt.Printf("%q %v\n", out, err)
}

func stdin() {
	c := self("cat")
	c.Stdin = strings.NewReader(strings.Repeat("0123456789", 30_000))
	out, err := c.Output()
	fmt.Println("echoed:", len(out), err)
	c = self("cat")
	in, _ := c.StdinPipe()
	from, _ := c.StdoutPipe()
	c.Start()
	r := bufio.NewReader(from)
	for _, w := range []string{"one\n", "two\n"} {
		io.WriteString(in, w)
		line, err := r.ReadString('\n')
		fmt.Printf("%q %v\n", line, err)
	}
	in.Close()
	_, err = r.ReadByte()
	fmt.Println("end:", err, c.Wait())
}

func exits() {
	for _, what := range []string{"exit", "panic", "hello"} {
		c := self(what)
		err := c.Run()
		fmt.Println(what, "code:", c.ProcessState.ExitCode(), "success:", c.ProcessState.Success(), "error:", err)
		fmt.Println("pid:", c.ProcessState.Pid() == c.Process.Pid, c.Process.Pid != os.Getpid())
	}
	c := self("wait")
	out, _ := c.StdoutPipe()
	c.Start()
	bufio.NewReader(out).ReadString('\n')
	fmt.Println("kill:", c.Process.Kill())
	fmt.Println("wait:", c.Wait())
	fmt.Println("signal after the end:", c.Process.Signal(syscall.SIGTERM))
}

func extra() {
	r, w, _ := os.Pipe()
	c := self("extra")
	c.ExtraFiles = []*os.File{w}
	err := c.Start()
	w.Close()
	all, _ := io.ReadAll(r)
	fmt.Printf("%q %v %v\n", all, err, c.Wait())
}

func timeout() {
	ctx, done := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer done()
	start := time.Now()
	err := exec.CommandContext(ctx, "/proc/self/exe", "child", "wait").Run()
	fmt.Println("ended by its timeout:", err, ctx.Err(), time.Since(start) >= 50*time.Millisecond)
}

func missing() {
	err := exec.Command("./nothing-here").Run()
	fmt.Println("missing:", errors.Is(err, os.ErrNotExist))
	os.WriteFile("plain", []byte("text"), 0o644)
	err = exec.Command("./plain").Run()
	fmt.Println("not executable:", errors.Is(err, os.ErrPermission))
	os.WriteFile("bad", []byte("text"), 0o755)
	err = exec.Command("./bad").Run()
	fmt.Println("no format:", errors.Is(err, syscall.ENOEXEC))
	c := self("hello")
	c.Dir = "no-such-folder"
	fmt.Println("no folder:", errors.Is(c.Run(), os.ErrNotExist))
}

func notify() {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGUSR1} {
		syscall.Kill(os.Getpid(), s)
		fmt.Println("got:", <-c)
	}
	signal.Stop(c)
	signal.Ignore(syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println("ignored:", signal.Ignored(syscall.SIGUSR1))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR2)
	syscall.Kill(os.Getpid(), syscall.SIGUSR2)
	<-ctx.Done()
	fmt.Println("context:", ctx.Err())
	stop()
}

func terminate() {
	c := self("term")
	out, _ := c.StdoutPipe()
	c.Start()
	r := bufio.NewReader(out)
	line, _ := r.ReadString('\n')
	fmt.Print("child: ", line)
	c.Process.Signal(syscall.SIGTERM)
	line, _ = r.ReadString('\n')
	fmt.Print("child: ", line)
	fmt.Println("wait:", c.Wait())
}

func many() {
	results := make(chan string)
	for i := 0; i < 8; i++ {
		go func() {
			c := self("cat")
			c.Stdin = strings.NewReader("x")
			out, err := c.Output()
			results <- fmt.Sprint(string(out), err)
		}()
	}
	ok := 0
	for i := 0; i < 8; i++ {
		if <-results == "x<nil>" {
			ok++
		}
	}
	fmt.Println("children that answered:", ok)
}

func shell() {
	out, err := exec.Command("sh", "-c", "echo a; echo b | tr b c; (exit 4); echo $?; for i in 1 2 3; do echo $i; done | wc -l").CombinedOutput()
	fmt.Printf("%q %v\n", out, err)
	out, err = exec.Command("sh", "-c", "kill -TERM $$").CombinedOutput()
	fmt.Printf("%q %v\n", out, err)
}
