// Command bloodhound-live explores possible next steps of programs: of handlers of Go code in tests, of services while
// they run, and of the routers of several domains. `bloodhound live` executes it.
package main

import (
	"os"

	"github.com/bloodhound-dst/bloodhound/live/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
