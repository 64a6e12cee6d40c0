// Command proxy sits in front of a master of redis and its replicas: applications speak to it as to a redis-server. It acknowledges
// what the master and one replica have, and promotes a replica when the master is gone.
//
//	proxy          PROXY_SERVERS are the servers, the first master first; PROXY_DATA is a folder
//	proxy health   asks the proxy of this machine whether the master has its replicas
//
// With PROXY_PROMOTE=first it has a bug: it promotes the first replica that answers, without a look at how far each one is.
package main

import (
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	if slices.Equal(os.Args[1:], []string{"health"}) {
		l, err := dial("localhost")
		if err != nil {
			log.Fatal(err)
		}
		if replies, err := l.do(time.Second, encode("PING")); err != nil || replies[0][0] != '+' {
			log.Fatalf("%v %q", err, replies)
		}
		return
	}
	servers, data, promote := os.Getenv("PROXY_SERVERS"), os.Getenv("PROXY_DATA"), os.Getenv("PROXY_PROMOTE")
	if servers == "" || data == "" || promote != "" && promote != "furthest" && promote != "first" {
		log.Fatalf("PROXY_SERVERS=%q and PROXY_DATA=%q must be set, and PROXY_PROMOTE=%q is furthest, or first (the bug)", servers, data, promote)
	}
	p, err := newProxy(strings.Split(servers, ","), data, promote == "first")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(p.serve(":6379"))
}
