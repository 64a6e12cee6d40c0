package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"time"
)

// Server is a backup server: it runs jobs, stores contents, restores and deletes backups, and collects its own dead rows.
type Server struct {
	Node      string
	Files     Files
	Database  *Database
	Repaired4 bool
	Repaired5 bool
}

// Handler serves
//
//	POST   /backups/REFERENCE?source=URL     runs a job: 200 and the row that holds the content, or 500: the job failed
//	GET    /backups/REFERENCE?hash=H&nonce=N&node=S  restores: 200 and the content, 404: there is none, 503: not now
//	DELETE /backups/REFERENCE?hash=H&nonce=N deletes a backup: 204, or 503: not now
//	GET    /files, /files/NAME               lists the server's content files, gives one
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /backups/{reference}", s.backup)
	mux.HandleFunc("GET /backups/{reference}", s.restore)
	mux.HandleFunc("DELETE /backups/{reference}", s.delete)
	mux.HandleFunc("GET /files", s.list)
	mux.HandleFunc("GET /files/{name}", s.file)
	return mux
}

func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	job := &Job{Server: s, Reference: r.PathValue("reference"), Source: r.URL.Query().Get("source")}
	log.Printf("backup %s begins", job.Reference)
	// A job continues when the client that asked for it has left.
	row, err := job.Run(context.WithoutCancel(r.Context()))
	if err != nil {
		log.Printf("backup %s failed: %v", job.Reference, err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	log.Printf("backup %s is done", job.Reference)
	reply(w, row)
}

func (s *Server) restore(w http.ResponseWriter, r *http.Request) {
	row := Row{Hash: r.URL.Query().Get("hash"), Nonce: r.URL.Query().Get("nonce"), Node: r.URL.Query().Get("node")}
	holds, err := s.Database.Holds(r.Context(), row, r.PathValue("reference"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if !holds {
		http.Error(w, "no row holds this reference", http.StatusNotFound)
		return
	}
	content, err := s.content(r.Context(), row)
	switch {
	case errors.Is(err, os.ErrNotExist):
		http.Error(w, "the content file is missing", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Write(content)
	}
}

// content reads a content file, here or from the server that has it.
func (s *Server) content(ctx context.Context, row Row) ([]byte, error) {
	if row.Node == s.Node {
		return s.Files.Read(row.File())
	}
	return pull(ctx, "http://"+row.Node+":8080/files/"+row.File())
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request) {
	row := Row{Hash: r.URL.Query().Get("hash"), Nonce: r.URL.Query().Get("nonce")}
	if _, err := s.Database.RemoveReference(r.Context(), row, r.PathValue("reference")); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	names, err := s.Files.Names()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	reply(w, names)
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	content, err := s.Files.Read(r.PathValue("name"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Write(content)
	}
}

// Collect removes rows whose list is empty, and their files. No job adds a reference to an empty list, so such a row is dead
// for good; its file goes first, so that a file without a row is never left.
func (s *Server) Collect(ctx context.Context, interval time.Duration) {
	for {
		time.Sleep(interval)
		rows, err := s.Database.Dead(ctx)
		if err != nil {
			continue // the next round tries again
		}
		for _, row := range rows {
			if s.Files.Remove(row.File()) == nil {
				s.Database.Delete(ctx, row)
			}
		}
	}
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Print(err)
	}
}
