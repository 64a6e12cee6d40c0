// Command bloodhound-drivers runs inside worlds whose workloads speak a protocol that needs a client library: NATS, MQTT and others.
// Bloodhound starts it in place of bloodhound-driver; there is nothing to run by hand.
package main

import (
	"os"

	"github.com/bloodhound-dst/bloodhound/drivers"
	"github.com/bloodhound-dst/bloodhound/internal/driver"
)

func main() { os.Exit(driver.Main(os.Args, drivers.Protocols(), os.Stdin, os.Stdout, os.Stderr)) }
