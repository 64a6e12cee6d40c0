// Command app serves values by key over HTTP. With -file it keeps them in a log; with -store it asks another app.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
)

func main() {
	file := flag.String("file", "", "log of the values")
	store := flag.String("store", "", "address of the app that has the values")
	flag.Parse()
	handler, err := newHandler(*file, *store)
	if err != nil {
		log.Fatal(err)
	}
	log.Print("ready")
	log.Fatal(http.ListenAndServe(":8080", handler))
}

func newHandler(file, store string) (http.Handler, error) {
	if store != "" {
		target, err := url.Parse(store)
		if err != nil {
			return nil, err
		}
		return httputil.NewSingleHostReverseProxy(target), nil
	}
	return openValues(file)
}

type record struct{ Key, Value string }

// values is a map in memory with a log on disk. A write is acknowledged after fsync.
type values struct {
	mutex sync.Mutex
	file  *os.File
	byKey map[string]string
}

func openValues(path string) (http.Handler, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	v := &values{file: file, byKey: map[string]string{}}
	decoder := json.NewDecoder(file)
	for {
		var r record
		if decoder.Decode(&r) != nil {
			break // the end of the log, or a record that was cut off
		}
		v.byKey[r.Key] = r.Value
	}
	if err := file.Truncate(decoder.InputOffset()); err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /kv/{key}", v.put)
	mux.HandleFunc("GET /kv/{key}", v.get)
	return mux, nil
}

func (v *values) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	key, value := r.PathValue("key"), string(body)
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if err := json.NewEncoder(v.file).Encode(record{key, value}); err != nil {
		log.Fatal(err)
	}
	if err := v.file.Sync(); err != nil {
		log.Fatal(err)
	}
	v.byKey[key] = value
	w.WriteHeader(http.StatusNoContent)
}

func (v *values) get(w http.ResponseWriter, r *http.Request) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if value, ok := v.byKey[r.PathValue("key")]; ok {
		io.WriteString(w, value)
	} else {
		http.NotFound(w, r)
	}
}
