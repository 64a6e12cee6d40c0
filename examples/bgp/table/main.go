// Table writes a table of routes that looks like that of the Internet, or a stream of updates to it, for the routers of this example.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/mrt"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

// startS is when tables are from: 1 July 2010, like the one whose statistics they have. It is fixed, so that equal flags give equal files.
const startS = 1_277_942_400

func main() {
	prefixes := flag.Int("prefixes", 319_355, "how many prefixes the table has")
	seed := flag.Uint64("seed", 1, "of the table, and of the stream")
	format := flag.String("format", "mrt", "mrt: the table as TABLE_DUMP_V2; text: as lines of bgpdump -m; bird: as a static protocol of BIRD 2; load: as the UPDATEs of a new session; updates: a stream of updates to it")
	minutes := flag.Int64("minutes", 15, "how long the stream of updates is")
	rate := flag.Float64("rate", 18.8, "prefixes a second in the stream of updates")
	out := flag.String("out", "", "the file to write; standard output if not set")
	flag.Parse()
	if err := run(*prefixes, *seed, *format, *minutes, *rate, *out); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(prefixes int, seed uint64, format string, minutes int64, rate float64, out string) error {
	t, err := table.Generate(prefixes, seed)
	if err != nil {
		return err
	}
	file := os.Stdout
	if out != "" {
		if file, err = os.Create(out); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(file, 1<<16)
	if err := write(w, t, seed, format, minutes, rate); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}

func write(w io.Writer, t *table.Table, seed uint64, format string, minutes int64, rate float64) error {
	switch format {
	case "bird":
		return t.BIRD(w, "everything")
	case "mrt":
		for rec := range t.Records(startS) {
			if err := mrt.Write(w, rec); err != nil {
				return err
			}
		}
	case "text":
		index := &mrt.PeerIndex{Peers: []mrt.Peer{table.Feed}}
		for rec := range t.Records(startS) {
			for line := range mrt.Lines(rec, index) {
				if _, err := fmt.Fprintln(w, line); err != nil {
					return err
				}
			}
		}
	case "load":
		for u := range t.Load() {
			if err := mrt.Write(w, table.Event{Update: u}.Record(startS)); err != nil {
				return err
			}
		}
	case "updates":
		stream, err := t.Updates(seed, minutes*60*1_000_000, rate)
		if err != nil {
			return err
		}
		for e := range stream {
			if err := mrt.Write(w, e.Record(startS)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown format %q: choose mrt, text, bird, load or updates", format)
	}
	return nil
}
