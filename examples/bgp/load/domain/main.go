// Domain is GoBGP, unmodified but for what testdata/server adds, as the router of a domain that answers others: `domain -config gobgp.toml`.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/osrg/gobgp/v4/pkg/config"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/bloodhound-dst/bloodhound/live/examples/bgp/load/explore"
)

func main() {
	name := flag.String("config", "gobgp.toml", "GoBGP's configuration")
	flag.Parse()
	if err := run(*name); err != nil {
		fmt.Fprintln(os.Stderr, "domain:", err)
		os.Exit(1)
	}
	select {}
}

func run(name string) error {
	read, err := config.ReadConfigFile(name, "toml")
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	s := server.NewBgpServer(server.LoggerOption(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), level))
	go s.Serve()
	if _, err := config.InitialConfig(context.Background(), s, read, false); err != nil {
		return err
	}
	return explore.Answer(s)
}
