// Command counted is built with go build -cover, and ends as its argument says.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"example.com/counted/shelf"
)

func main() {
	things := make([]string, 0, 2)
	for _, word := range os.Args[2:] {
		things = shelf.Put(things, word)
	}
	func() {
		fmt.Println(things)
	}()
	switch os.Args[1] {
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "crash":
		var nowhere *int
		*nowhere = 1
	case "exec":
		syscall.Exec(os.Args[0], []string{os.Args[0], "end"}, os.Environ())
	case "child":
		fmt.Println(exec.Command(os.Args[0], "end", "a", "b", "c").Run())
	case "stay":
		time.Sleep(time.Hour)
	case "end":
		fmt.Println("ends")
	}
}
