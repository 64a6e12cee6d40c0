// Command bloodhound hunts bugs in distributed systems: it runs a whole cluster in a world where every choice is a
// decision on a tape.
package main

import (
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
	"github.com/bloodhound-dst/bloodhound/internal/driver"
)

func main() {
	if driver.IsAsked(os.Args) {
		os.Exit(driver.Main(os.Args, nil, os.Stdin, os.Stdout, os.Stderr))
	}
	if filepath.Base(os.Args[0]) == cli.RRName {
		os.Exit(cli.RR(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
