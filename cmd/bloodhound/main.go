// Command bloodhound hunts bugs in distributed systems: it runs a whole cluster in a world where every choice is a
// decision on a tape.
package main

import (
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
