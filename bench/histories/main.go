// Command histories makes a table of the verdicts and times of `bloodhound check`. Each line of its standard input is the verdict
// that is expected, or -, and then the arguments of check:
//
//	go -C bench run ./histories ../bin/bloodhound <cases.txt
//
// It exits with 1 where a verdict is another one.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "histories: name the bloodhound to run; the cases are its standard input")
		os.Exit(2)
	}
	fmt.Print("| arguments | expected | verdict | time | memory |\n|---|---|---|---|---|\n")
	other := false
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		c := exec.Command(os.Args[1], append([]string{"check", "--json"}, words[1:]...)...)
		at := time.Now()
		out, err := c.Output()
		took := time.Since(at)
		var doc struct {
			Verdicts []struct {
				Status string `json:"status"`
			} `json:"verdicts"`
		}
		verdict := fmt.Sprint(err)
		if json.Unmarshal(out, &doc) == nil && len(doc.Verdicts) == 1 {
			verdict = doc.Verdicts[0].Status
		}
		if words[0] != "-" && words[0] != verdict {
			other = true
		}
		peak := int64(0)
		if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = u.Maxrss >> 10
		}
		fmt.Printf("| %s | %s | %s | %.2f s | %d MB |\n", strings.Join(words[1:], " "), words[0], verdict, took.Seconds(), peak)
	}
	if other {
		os.Exit(1)
	}
}
