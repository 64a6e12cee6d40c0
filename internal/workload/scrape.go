package workload

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// scrapeTimeout bounds the answer of one target, where the interval is not shorter.
const scrapeTimeout = 5 * time.Second

// maxMetricsBytes bounds what a target may serve.
const maxMetricsBytes = 16 << 20

// scrape asks all targets of an alerts check for their metrics, side by side.
func scrape(c *world.Check) (code int, text string, scrapes []world.Scraped) {
	deadline := time.Now().Add(min(scrapeTimeout, time.Duration(c.IntervalNs)))
	var urls []string
	for _, s := range c.Alerts.Scrapes {
		for _, node := range s.Nodes {
			url := strings.ReplaceAll(s.Endpoint, world.NodePlace, node)
			b, err := parseBase(url)
			if err != nil {
				return world.ProbeFailed, err.Error(), nil
			}
			urls = append(urls, url)
			scrapes = append(scrapes, world.Scraped{Job: s.Job, Instance: b.addr})
		}
	}
	var all sync.WaitGroup
	for i := range scrapes {
		all.Go(func() {
			s := &scrapes[i]
			body, err := metricsOf(urls[i], deadline)
			if err == nil {
				s.Text, err = kept(body, c.Alerts)
			}
			if err != nil {
				s.Error = clip(oneLine(err.Error()))
			}
		})
	}
	all.Wait()
	answered := 0
	for i := range scrapes {
		if scrapes[i].Error == "" {
			answered++
		} else {
			text += "; " + scrapes[i].Instance + ": " + scrapes[i].Error
		}
	}
	text = fmt.Sprintf("%d of %d targets have metrics%s", answered, len(scrapes), text)
	if answered == 0 {
		return world.ProbeNoAnswer, text, scrapes
	}
	return world.ProbeHolds, text, scrapes
}

func metricsOf(url string, deadline time.Time) ([]byte, error) {
	reply, err := askHTTP(url, "", maxMetricsBytes, deadline)
	switch {
	case reply == nil:
		return nil, err
	case reply.status != http.StatusOK:
		return nil, fmt.Errorf("status %d", reply.status)
	case err != nil && err != errNoEnd:
		return nil, fmt.Errorf("no whole body: %w", err)
	}
	return reply.body, nil
}

// kept are the lines of metrics that rules ask for. A body that is not in the text format of Prometheus is an error, as it is for
// Prometheus; of lines that are left out, only their names and numbers are looked at.
func kept(body []byte, a *world.Alerts) (string, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(body) {
		text := bytes.TrimSpace(line)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		name, err := metric(text)
		if err != nil {
			return "", fmt.Errorf("no text format of Prometheus: %w: %q", err, clip(string(text)))
		}
		if a.All || slices.Contains(a.Keep, name) {
			out.Write(text)
			out.WriteByte('\n')
		}
	}
	return out.String(), nil
}

// metric is the name in a line of a sample: NAME{LABELS} NUMBER [TIME].
func metric(line []byte) (string, error) {
	end := bytes.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", errors.New("a line without a name")
	}
	for i, b := range line[:end] {
		if letter := b|0x20 >= 'a' && b|0x20 <= 'z' || b == '_' || b == ':'; !letter && (i == 0 || b < '0' || b > '9') {
			return "", errors.New("a line without a name")
		}
	}
	fields := bytes.Fields(line[max(end, bytes.LastIndexByte(line, '}')+1):])
	if len(fields) != 1 && len(fields) != 2 {
		return "", errors.New("a line without a number")
	}
	if _, err := strconv.ParseFloat(string(fields[0]), 64); err != nil {
		return "", errors.New("a line without a number")
	}
	return string(line[:end]), nil
}
