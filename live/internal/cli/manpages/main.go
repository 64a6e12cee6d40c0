// Command manpages writes the manual pages of `bloodhound live` and its verbs into a folder: manpages FOLDER VERSION SECONDS, where
// SECONDS since 1970 is the time of the release. A release is made by the root's module, which cannot import these verbs.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/program/manpages"
	"github.com/bloodhound-dst/bloodhound/live/internal/cli"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: manpages FOLDER VERSION SECONDS")
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	return manpages.Write(args[0], cli.Verb(), time.Unix(seconds, 0).UTC(), args[1])
}
