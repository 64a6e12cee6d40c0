// Command server answers GET and PUT of /kv/KEY from a database of Badger, with the defaults of its release: every write is on the disk
// before its client hears of it. Truncate is on, as the manual asks of those whose programs may be killed.
package main

import (
	"errors"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/dgraph-io/badger"
)

func main() {
	// Small tables and logs, as there is little data.
	options := badger.DefaultOptions("/data").WithTruncate(true).WithMaxTableSize(1 << 20).WithValueLogFileSize(16 << 20)
	var db *badger.DB
	for {
		var err error
		if db, err = badger.Open(options); err == nil {
			break
		}
		log.Print("the database does not open: ", err)
		time.Sleep(200 * time.Millisecond)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		var value []byte
		err := db.View(func(tx *badger.Txn) error {
			item, err := tx.Get([]byte(r.PathValue("key")))
			if err == nil {
				value, err = item.ValueCopy(nil)
			}
			return err
		})
		switch {
		case errors.Is(err, badger.ErrKeyNotFound):
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
			err = db.Update(func(tx *badger.Txn) error { return tx.Set([]byte(r.PathValue("key")), value) })
		}
		if err != nil {
			log.Print("a write failed: ", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
