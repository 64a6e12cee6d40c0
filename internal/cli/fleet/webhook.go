package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// webhook posts failures to a URL, beside what else the program does. Without a URL it does nothing.
type webhook struct {
	url  *url.URL
	note func(string)
	sent sync.WaitGroup
}

// webhookTime bounds a post.
const webhookTime = 10 * time.Second

func newWebhook(text string, note func(string)) (*webhook, error) {
	if text == "" {
		return &webhook{}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--webhook needs a URL such as https://hooks.example/services/x")
	}
	return &webhook{url: u, note: note}, nil
}

// Announcement is the body of a post. Slack, and what reads its webhooks, shows Text.
type Announcement struct {
	Text string `json:"text"`
	Test string `json:"test"`
	failure.Failure
	Reason string `json:"reason"`
	Of     string `json:"failure"` // repeats the ID under its earlier key
	Tape   string `json:"tape"`
	Code   string `json:"code"`
	Env    string `json:"env"`
	Worker string `json:"worker"`
}

func (w *webhook) announce(test string, f *records.Failure) {
	if w.url == nil {
		return
	}
	body, err := json.Marshal(Announcement{Text: report.Printable(test + ": " + f.Sentence()), Test: test, Failure: f.Failure,
		Reason: report.Printable(f.Reason), Of: f.ID, Tape: f.Tape, Code: string(f.Code), Env: string(f.Env), Worker: string(f.Worker)})
	if err != nil {
		panic("webhook: " + err.Error()) // strings
	}
	w.sent.Go(func() {
		client := http.Client{Timeout: webhookTime}
		r, err := client.Post(w.url.String(), "application/json", bytes.NewReader(body))
		if err == nil {
			r.Body.Close()
			if r.StatusCode/100 != 2 {
				err = fmt.Errorf("it answered %s", r.Status)
			}
		}
		if err != nil { // which may name the URL, and in it a secret
			w.note(fmt.Sprintf("the webhook of %s did not accept a failure", w.url.Host))
		}
	})
}

// wait waits for what is being sent.
func (w *webhook) wait() { w.sent.Wait() }
