// Command server answers GET, PUT and DELETE of /kv/KEY from an embedded store: the one of the build tag badger4, raftwal, raftsuffix or tidwal, whose modules are in
// the file of modules of that name. Every write is synchronised before its client gets an answer, as far as the store does that.
package main

import (
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
	del(key string) error
}

func main() {
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	db, err := open()
	for ; err != nil; db, err = open() {
		log.Print("the database does not open: ", err)
		time.Sleep(200 * time.Millisecond)
	}
	fail := func(w http.ResponseWriter, what string, err error) {
		log.Print("a ", what, " failed: ", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := db.get(r.PathValue("key"))
		switch {
		case err != nil:
			fail(w, "get", err)
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
			fail(w, "put", err)
		}
	})
	http.HandleFunc("DELETE /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		if err := db.del(r.PathValue("key")); err != nil {
			fail(w, "delete", err)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
