// Command bloodhound hunts bugs in distributed systems: it runs a whole cluster in a world where every choice is a
// decision on a tape.
package main

import (
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
	_ "github.com/bloodhound-dst/bloodhound/internal/lean"
)

func main() {
	if filepath.Base(os.Args[0]) == cli.StopFaultsName {
		os.Exit(cli.StopFaults(os.Args[1:], os.Stderr))
	}
	if filepath.Base(os.Args[0]) == cli.RRName {
		os.Exit(cli.RR(os.Args[1:], os.Stdout, os.Stderr))
	}
	if cli.IsGuest() {
		os.Exit(cli.Guest(os.Stdout))
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
