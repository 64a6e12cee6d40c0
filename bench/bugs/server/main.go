// Command server answers GET and PUT of /kv/KEY from a database of one of several embedded stores. Every write is synchronised before its client gets an
// answer, as far as the store does that.
package main

import (
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

// store is a database. get gives nil for a key that is not there.
type store interface {
	get(key string) ([]byte, error)
	put(key string, value []byte) error
}

var opens = map[string]func() (store, error){"badger": openBadger, "bbolt": openBbolt, "buntdb": openBuntdb, "goleveldb": openGoleveldb}

func main() {
	name := flag.String("store", "", "badger, bbolt, buntdb or goleveldb")
	retry := flag.Bool("retry", false, "open a database that does not open again and again")
	stop := flag.Bool("stop", false, "end as soon as a write fails, as PostgreSQL and MongoDB do")
	flag.Parse()
	open := opens[*name]
	if open == nil {
		log.Fatalf("there is no store %q", *name)
	}
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	db, err := open()
	for ; err != nil; db, err = open() {
		if !*retry {
			log.Fatal(err)
		}
		log.Print("the database does not open: ", err)
		time.Sleep(200 * time.Millisecond)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := db.get(r.PathValue("key"))
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case value == nil:
			http.NotFound(w, r)
		default:
			w.Write(value)
		}
	})
	http.HandleFunc("PUT /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(r.Body)
		if err == nil {
			err = db.put(r.PathValue("key"), value)
		}
		if err != nil {
			log.Print("a write failed: ", err)
			if *stop {
				os.Exit(0) // opened again, goleveldb writes all that its journal has into a table
			}
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
