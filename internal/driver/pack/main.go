// Command pack compresses a driver program for bloodhound to embed: pack PROGRAM ARCHIVE.
package main

import (
	"fmt"
	"os"

	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
)

func main() {
	if err := pack(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: pack PROGRAM ARCHIVE")
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	archive, err := driverfile.Pack(content)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], archive, 0o666)
}
