// Command server answers GET and PUT of /kv/KEY from a database of bbolt. Every commit is synchronised before its client hears of
// it.
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	"go.etcd.io/bbolt"
)

var bucket = []byte("kv")

func main() {
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	db, err := bbolt.Open("/data/store.db", 0o644, nil)
	if err != nil {
		log.Fatal(err)
	}
	// Until the bucket is there, nobody is served.
	for {
		err := db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(bucket)
			return err
		})
		if err == nil {
			break
		}
		log.Print("no bucket yet: ", err)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		var value []byte
		err := db.View(func(tx *bbolt.Tx) error {
			value = append(value, tx.Bucket(bucket).Get([]byte(r.PathValue("key")))...)
			return nil
		})
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
			err = db.Update(func(tx *bbolt.Tx) error {
				return tx.Bucket(bucket).Put([]byte(r.PathValue("key")), value)
			})
		}
		if err != nil {
			log.Print("a write failed: ", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
