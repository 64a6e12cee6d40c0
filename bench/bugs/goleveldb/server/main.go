// Command server answers GET and PUT of /kv/KEY from a database of goleveldb. Every write is synchronised before its client hears
// of it.
package main

import (
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
)

func main() {
	stop := flag.Bool("stop", false, "end as soon as a write fails, as PostgreSQL and MongoDB do")
	flag.Parse()
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	var db *leveldb.DB
	for {
		var err error
		if db, err = leveldb.OpenFile("/data/store", nil); err == nil {
			break
		}
		log.Print("the database does not open: ", err)
		time.Sleep(200 * time.Millisecond)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := db.Get([]byte(r.PathValue("key")), nil)
		switch {
		case errors.Is(err, leveldb.ErrNotFound):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Write(value)
		}
	})
	http.HandleFunc("PUT /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(r.Body)
		if err == nil {
			err = db.Put([]byte(r.PathValue("key")), value, &opt.WriteOptions{Sync: true})
		}
		if err != nil {
			log.Print("a write failed: ", err)
			if *stop {
				// Opened again, the database writes all that its journal has into a table.
				os.Exit(0)
			}
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
