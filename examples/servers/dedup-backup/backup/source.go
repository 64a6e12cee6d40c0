package main

import (
	"flag"
	"io"
	"net/http"
	"sync"
)

// source serves the data that is backed up: PUT /KEY makes it, GET /KEY pulls it. A key stands for one version of an
// object, such as o3@2, and never changes.
func source(arguments []string) error {
	flags := flag.NewFlagSet("source", flag.ExitOnError)
	listen := flags.String("listen", ":8080", "where it serves HTTP")
	flags.Parse(arguments)
	var mu sync.Mutex
	held := map[string][]byte{}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /{key}", func(w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		held[r.PathValue("key")] = content
		mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /{key}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		content, found := held[r.PathValue("key")]
		mu.Unlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		w.Write(content)
	})
	return http.ListenAndServe(*listen, mux)
}
