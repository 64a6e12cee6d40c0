// Command backup is a small backup service that stores equal contents once. `backup serve` is a backup server, `backup
// source` holds the data that is backed up, and `backup health` asks a server whether it is ready.
//
// The README explains the algorithm, step by step, and what is wrong with it. Steps 4 and 5 exist twice in job.go: as published,
// and repaired; -repaired says which steps are.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("backup: the first argument is serve, source or health")
	}
	commands := map[string]func(arguments []string) error{"serve": serve, "source": source, "health": health}
	command := commands[os.Args[1]]
	if command == nil {
		log.Fatalf("backup: no command %q: serve, source or health", os.Args[1])
	}
	log.Fatal(command(os.Args[2:]))
}

// serve runs a backup server.
func serve(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	node := flags.String("node", "", "this server's name; the others reach it under this name")
	listen := flags.String("listen", ":8080", "where it serves HTTP")
	files := flags.String("files", "/files", "the folder of its content files")
	database := flags.String("database", "", "URL of the PostgreSQL database")
	timeout := flags.Duration("timeout", 200*time.Millisecond, "how long a statement may take")
	collect := flags.Duration("collect", 300*time.Millisecond, "how often the collector looks for rows without references")
	repaired := flags.String("repaired", "none", "which steps are repaired: none, 4, or 4,5")
	unfenced := flags.Bool("unfenced", false, "repaired steps do not make sure that a statement is no longer on its way")
	flags.Parse(arguments)
	s := &Server{Node: *node, Files: Files{Folder: *files}, Database: NewDatabase(*database, *node, *timeout)}
	s.Database.Unfenced = *unfenced
	switch *repaired {
	case "none":
	case "4":
		s.Repaired4 = true
	case "4,5":
		s.Repaired4, s.Repaired5 = true, true
	default:
		return fmt.Errorf("backup serve: -repaired is none, 4, or 4,5, not %q", *repaired)
	}
	if *node == "" || *database == "" || flags.NArg() > 0 {
		return fmt.Errorf("backup serve: -node and -database are needed, and no further arguments")
	}
	if err := s.Files.Prepare(); err != nil {
		return err
	}
	ctx := context.Background()
	forever(func() error { return s.Database.CreateTable(ctx) })
	go s.Collect(ctx, *collect)
	return http.ListenAndServe(*listen, s.Handler())
}

// health succeeds if the server answers: it serves once it has seen the database.
func health(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("backup health: one argument, the URL of a server")
	}
	response, err := http.Get(strings.TrimSuffix(arguments[0], "/") + "/files")
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	os.Exit(0)
	return nil
}

// forever is how the algorithm retries what must happen: until it has.
func forever(attempt func() error) {
	for attempt() != nil {
		time.Sleep(200 * time.Millisecond)
	}
}
