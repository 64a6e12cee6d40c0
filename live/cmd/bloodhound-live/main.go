// Command bloodhound-live explores what programs could do next: handlers of Go code in tests, services while they run, and routers of
// several domains. `bloodhound live` executes it.
package main

import (
	"os"

	"github.com/bloodhound-dst/bloodhound/live/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
