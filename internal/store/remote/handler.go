package remote

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// maxBody bounds the bodies of requests that are no blobs: a bundle of entries is smaller, and one entry, too.
const maxBody = 16 << 20

// maxLease bounds the time of a lease: a holder that lives extends it.
const maxLease = 24 * time.Hour

// beatEvery is how often a server says that it is at work.
const beatEvery = 5 * time.Second

// handler serves a database.
type handler struct {
	s store.Store
}

// Handler serves a database below Prefix to who sends the token; "" lets in everybody. Answers of a Read may take long: the server that it
// belongs to has no WriteTimeout.
func Handler(s store.Store, token string) http.Handler {
	h := &handler{s}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET entries": h.read, "POST entries": h.add, "GET wait": h.wait, "POST drop": h.drop, "POST compact": h.compact, "POST check": h.check,
		"GET blobs": h.blobs, "GET blobs/{digest}": h.blob, "PUT blobs/{digest}": h.putBlob, "DELETE blobs/{digest}": h.dropBlob,
		"POST lease": h.lease, "POST release": h.release,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+Prefix+path, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &badRequest{http.StatusNotFound, "unknown path " + r.URL.Path})
	})
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if token != "" && subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, &badRequest{http.StatusUnauthorized, "the token is missing or wrong"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// badRequest is the answer to a request that no store could serve.
type badRequest struct {
	status int
	text   string
}

func (e *badRequest) Error() string { return e.text }

// failureOf describes an error to a client.
func failureOf(err error) failure {
	for kind, is := range kinds {
		if errors.Is(err, is) {
			return failure{kind, err.Error()}
		}
	}
	return failure{"", err.Error()}
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var bad *badRequest
	var large *http.MaxBytesError
	f := failureOf(err)
	switch {
	case errors.As(err, &bad):
		status = bad.status
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, store.ErrHeld):
		status = http.StatusConflict
	case errors.Is(err, store.ErrNoBlob):
		status = http.StatusNotFound
	case errors.Is(err, store.ErrReadOnly):
		status = http.StatusForbidden
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(f)
}

func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

func queryCursor(r *http.Request) (prefix string, from store.Cursor) {
	q := r.URL.Query()
	return q.Get("prefix"), store.Cursor(q.Get("from"))
}

func (h *handler) read(w http.ResponseWriter, r *http.Request) error {
	prefix, from := queryCursor(r)
	w.Header().Set("Content-Type", "application/octet-stream")
	var frame []byte
	next, err := h.s.Read(r.Context(), prefix, from, func(e store.Entry) error {
		frame = store.AppendFrame(frame[:0], &e)
		_, err := w.Write(frame)
		return err
	})
	last := end{Cursor: next, Damages: store.Damages(h.s)}
	if err != nil {
		f := failureOf(err)
		last.Error = &f
	}
	if _, err := w.Write(make([]byte, store.FrameHeadBytes)); err == nil {
		json.NewEncoder(w).Encode(last)
	}
	return nil
}

func (h *handler) add(w http.ResponseWriter, r *http.Request) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return err
	}
	var list []store.Entry
	whole, damage, _ := store.Frames(b, func(e store.Entry) error { list = append(list, e); return nil })
	if damage != nil || whole != len(b) {
		return &badRequest{http.StatusBadRequest, fmt.Sprintf("the entries are not valid frames after byte %d", whole)}
	}
	if err := store.CheckEntries(list); err != nil {
		return &badRequest{http.StatusBadRequest, err.Error()}
	}
	if err := h.s.Add(r.Context(), list...); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

func (h *handler) wait(w http.ResponseWriter, r *http.Request) error {
	prefix, from := queryCursor(r)
	ctx, cancel := context.WithTimeout(r.Context(), silence/2)
	defer cancel()
	if err := h.s.Wait(ctx, prefix, from); err != nil && ctx.Err() == nil {
		return err
	}
	return answer(w, struct{}{})
}

// lines writes an answer of lines, and a sign of life now and then.
func lines(w http.ResponseWriter, f func(write func(line) error) error) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	var mu sync.Mutex
	out := json.NewEncoder(w)
	write := func(l line) error {
		mu.Lock()
		defer mu.Unlock()
		return out.Encode(l)
	}
	done := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(beatEvery):
				if write(line{}) == nil {
					mu.Lock()
					http.NewResponseController(w).Flush()
					mu.Unlock()
				}
			}
		}
	})
	last := line{End: true}
	if err := f(write); err != nil {
		f := failureOf(err)
		last = line{Error: &f}
	}
	close(done)
	beats.Wait()
	return write(last)
}

func (h *handler) drop(w http.ResponseWriter, r *http.Request) error {
	prefix, _ := queryCursor(r)
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return err
	}
	ids := map[store.Identity]bool{}
	for len(b) > 0 {
		var id store.Identity
		if len(b) < len(id) {
			return &badRequest{http.StatusBadRequest, "the list of entries is truncated"}
		}
		copy(id[:], b)
		ids[id], b = true, b[len(id):]
	}
	return lines(w, func(write func(line) error) error {
		n, err := h.s.Drop(r.Context(), prefix, func(e store.Entry) bool { return ids[e.Identity()] })
		if err != nil {
			return err
		}
		return write(line{Count: n})
	})
}

func (h *handler) compact(w http.ResponseWriter, r *http.Request) error {
	return lines(w, func(write func(line) error) error {
		n, err := h.s.Compact(r.Context())
		if err != nil {
			return err
		}
		return write(line{Count: n})
	})
}

func (h *handler) check(w http.ResponseWriter, r *http.Request) error {
	return lines(w, func(write func(line) error) error {
		return store.Check(r.Context(), h.s, func(what, damage string) { write(line{What: what, Damage: damage}) })
	})
}

func (h *handler) blobs(w http.ResponseWriter, r *http.Request) error {
	return lines(w, func(write func(line) error) error {
		return h.s.Blobs(r.Context(), func(info store.BlobInfo) error { return write(line{Blob: &info}) })
	})
}

func digest(r *http.Request) store.Digest { return store.Digest(r.PathValue("digest")) }

func (h *handler) blob(w http.ResponseWriter, r *http.Request) error {
	b, err := h.s.Blob(r.Context(), digest(r))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Write(b)
	return nil
}

func (h *handler) putBlob(w http.ResponseWriter, r *http.Request) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, store.MaxBlobBytes))
	if err != nil {
		return err
	}
	if store.DigestOf(b) != digest(r) {
		return &badRequest{http.StatusBadRequest, "the bytes do not have the digest in the path"}
	}
	if _, err := h.s.PutBlob(r.Context(), b); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

func (h *handler) dropBlob(w http.ResponseWriter, r *http.Request) error {
	if err := h.s.DropBlob(r.Context(), digest(r)); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

func (h *handler) lease(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	ms, err := strconv.ParseInt(q.Get("ttl_ms"), 10, 64)
	if err != nil || ms <= 0 || ms > maxLease.Milliseconds() {
		return &badRequest{http.StatusBadRequest, fmt.Sprintf("ttl_ms of a lease must be from 1 to %d", maxLease.Milliseconds())}
	}
	l, err := h.s.Lease(r.Context(), q.Get("name"), q.Get("holder"), time.Duration(ms)*time.Millisecond)
	if err != nil {
		return err
	}
	return answer(w, l)
}

func (h *handler) release(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if err := h.s.Release(r.Context(), q.Get("name"), q.Get("holder")); err != nil {
		return err
	}
	return answer(w, struct{}{})
}
