package dashboard

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// How long clients may take.
const (
	strangerTime = 10 * time.Second // for a request and its answer, until the client has shown that it may come in
	silentTime   = time.Minute      // for the next part of a body, after that
)

// patience bounds how long a connection waits for a client. A server's ReadTimeout cannot: it would also end uploads of blobs, and answers that wait for news.
type patience struct {
	stranger, silent time.Duration // 0: as above
}

// hurry bounds the time of a request of somebody unknown: its body, which the server also reads after the answer, and its answer.
func (p *patience) hurry(w http.ResponseWriter) {
	stranger := p.stranger
	if stranger == 0 {
		stranger = strangerTime
	}
	until := time.Now().Add(stranger)
	c := http.NewResponseController(w)
	c.SetReadDeadline(until)
	c.SetWriteDeadline(until)
}

// relax lets a client that may come in take its time, as long as its body goes on.
func (p *patience) relax(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	c.SetWriteDeadline(time.Time{})
	if r.Body == nil || r.Body == http.NoBody {
		c.SetReadDeadline(time.Time{})
		return
	}
	silent := p.silent
	if silent == 0 {
		silent = silentTime
	}
	r.Body = &patientBody{r.Body, c, silent}
}

// patientBody is a body whose parts come one after the other, each within a time.
type patientBody struct {
	io.ReadCloser
	c      *http.ResponseController
	silent time.Duration
}

func (b *patientBody) Read(p []byte) (int, error) {
	b.c.SetReadDeadline(time.Now().Add(b.silent))
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.c.SetReadDeadline(time.Time{}) // the answer may take longer, and the server watches whether the client is still there
	}
	return n, err
}
