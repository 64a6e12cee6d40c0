// Command bloodhound-driver runs inside worlds. Bloodhound starts it; there is nothing to run by hand.
package main

import (
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/driver"
)

func main() { os.Exit(driver.Main(os.Args, nil, os.Stdin, os.Stdout, os.Stderr)) }
