// Command bolt is a key-value server over a bbolt database: a PUT is answered when its transaction has been committed.
// With -nosync its commits are not synchronised.
package main

import (
	"flag"
	"io"
	"log"
	"net/http"
	"os"

	"go.etcd.io/bbolt"
)

func main() {
	noSync := flag.Bool("nosync", false, "do not synchronise")
	flag.Parse()
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	db, err := bbolt.Open("/data/kv.db", 0o644, &bbolt.Options{NoSync: *noSync, NoGrowSync: *noSync})
	if err != nil {
		log.Fatal(err)
	}
	bucket := []byte("kv")
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			value, err := io.ReadAll(r.Body)
			if err == nil {
				err = db.Update(func(tx *bbolt.Tx) error {
					b, err := tx.CreateBucketIfNotExists(bucket)
					if err != nil {
						return err
					}
					return b.Put([]byte(r.URL.Path), value)
				})
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		case http.MethodGet:
			var value []byte
			db.View(func(tx *bbolt.Tx) error {
				if b := tx.Bucket(bucket); b != nil {
					value = append(value, b.Get([]byte(r.URL.Path))...)
				}
				return nil
			})
			if value == nil {
				http.NotFound(w, r)
				return
			}
			w.Write(value)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
