// Command server answers GET and PUT of /kv/KEY from a database of one of several embedded stores: those of stores.go, or with the build tag pogreb
// that store, whose modules are in pogreb.mod. Every write is synchronised before its client gets an answer, as far as the store does that.
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

func main() {
	name := flag.String("store", "", "one of the stores that the program was built with")
	retry := flag.Bool("retry", false, "open a database that does not open again and again")
	stop := flag.Bool("stop", false, "end as soon as a write fails, as PostgreSQL and MongoDB do, or the database does not open")
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
		log.Print("the database does not open: ", err)
		switch {
		case *retry:
			time.Sleep(200 * time.Millisecond)
		case *stop:
			os.Exit(0)
		default:
			os.Exit(1)
		}
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
