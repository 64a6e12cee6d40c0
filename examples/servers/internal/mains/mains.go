// Package mains holds the code that the main functions of the servers share.
package mains

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Run is the main function of a server that has two commands: `serve`, and `health URL`, whose exit code is 0 if the server there is healthy.
func Run(usage string, serve func()) {
	log.SetFlags(0)
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		serve()
	case len(os.Args) == 3 && os.Args[1] == "health":
		client := http.Client{Timeout: time.Second}
		resp, err := client.Get(os.Args[2])
		if err != nil || resp.StatusCode != http.StatusOK {
			os.Exit(1)
		}
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}

// Setting reads a variable of the environment; without values it may have any.
func Setting(name, otherwise string, values ...string) string {
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	if slices.Contains(values, v) {
		return v
	}
	if len(values) > 0 {
		log.Fatalf("%s is %q; it is one of %s", name, v, strings.Join(values, ", "))
	}
	return v
}

// AskHealth ends the program with an error if the server of this machine is not healthy.
func AskHealth() {
	resp, err := http.Get("http://localhost:8080/health")
	if err != nil {
		log.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		log.Fatal(resp.Status)
	}
}
