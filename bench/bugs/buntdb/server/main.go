// Command server answers GET and PUT of /kv/KEY from a database of buntdb. Every commit is synchronised (SyncPolicy Always) before
// its client hears of it.
package main

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/tidwall/buntdb"
)

func main() {
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	db, err := buntdb.Open("/data/store.db")
	if err != nil {
		log.Fatal(err)
	}
	var config buntdb.Config
	if err := db.ReadConfig(&config); err != nil {
		log.Fatal(err)
	}
	config.SyncPolicy = buntdb.Always
	if err := db.SetConfig(config); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		var value string
		err := db.View(func(tx *buntdb.Tx) (err error) {
			value, err = tx.Get(r.PathValue("key"))
			return err
		})
		switch {
		case errors.Is(err, buntdb.ErrNotFound):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			io.WriteString(w, value)
		}
	})
	http.HandleFunc("PUT /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		err = db.Update(func(tx *buntdb.Tx) error {
			_, _, err := tx.Set(r.PathValue("key"), string(value), nil)
			return err
		})
		if err != nil {
			log.Print("a write failed: ", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
