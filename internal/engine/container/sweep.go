package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
)

// young is how long a run may take to start its first keeper. What is younger, and has none, belongs to a run that begins.
const young = time.Minute

// labelled is the query for all things with a label.
func labelled(label string) url.Values {
	filters, _ := json.Marshal(map[string][]string{"label": {label}})
	return url.Values{"all": {"true"}, "filters": {string(filters)}}
}

// belongings lists a run's objects in the daemon.
type belongings struct {
	keepers, nodes    []string // containers
	networks, volumes []string
	running           int // keepers
	newest            time.Time
}

// belongingsOf lists what runs have in the daemon, by run.
func belongingsOf(ctx context.Context, c *docker.Client, label string) (map[string]*belongings, error) {
	all := map[string]*belongings{}
	of := func(labels map[string]string, made time.Time) *belongings {
		run := labels[runLabel]
		if all[run] == nil {
			all[run] = &belongings{}
		}
		if made.After(all[run].newest) {
			all[run].newest = made
		}
		return all[run]
	}
	var containers []docker.Listed
	if err := c.Call(ctx, http.MethodGet, "/containers/json", labelled(label), nil, &containers); err != nil {
		return nil, err
	}
	for _, l := range containers {
		b := of(l.Labels, time.Unix(l.Created, 0))
		if l.Labels[roleLabel] != keeperRole {
			b.nodes = append(b.nodes, l.ID)
		} else {
			b.keepers = append(b.keepers, l.ID)
			if l.State == "running" || l.State == "created" && time.Since(time.Unix(l.Created, 0)) < young {
				b.running++
			}
		}
	}
	type made struct {
		ID      string `json:"Id"`
		Name    string
		Created time.Time
		// CreatedAt is set for volumes.
		CreatedAt time.Time
		Labels    map[string]string
	}
	var networks []made
	if err := c.Call(ctx, http.MethodGet, "/networks", labelled(label), nil, &networks); err != nil {
		return nil, err
	}
	for _, n := range networks {
		b := of(n.Labels, n.Created)
		b.networks = append(b.networks, n.ID)
	}
	var volumes struct{ Volumes []made }
	if err := c.Call(ctx, http.MethodGet, "/volumes", labelled(label), nil, &volumes); err != nil {
		return nil, err
	}
	for _, v := range volumes.Volumes {
		b := of(v.Labels, v.CreatedAt)
		b.volumes = append(b.volumes, v.Name)
	}
	return all, nil
}

// orphaned reports whether the engine of a run is over: its keepers end with it.
func (b *belongings) orphaned() bool {
	if len(b.keepers) == 0 {
		return time.Since(b.newest) > young
	}
	return b.running == 0
}

// sweep finds runs whose engine was killed, and removes what they have left if it is asked to. It returns their names.
func sweep(ctx context.Context, c *docker.Client, clean bool) (runs []string, err error) {
	all, err := belongingsOf(ctx, c, runLabel)
	if err != nil {
		return nil, err
	}
	for _, run := range slices.Sorted(maps.Keys(all)) {
		if !all[run].orphaned() {
			continue
		}
		runs = append(runs, run)
		if clean {
			err = errors.Join(err, all[run].remove(ctx, c))
		}
	}
	return runs, err
}

// remove removes all that a run has in the daemon.
func remove(ctx context.Context, c *docker.Client, run string) error {
	all, err := belongingsOf(ctx, c, runLabel+"="+run)
	if err != nil || all[run] == nil {
		return err
	}
	return all[run].remove(ctx, c)
}

// remove removes nodes before the keepers whose networks they have.
func (b *belongings) remove(ctx context.Context, c *docker.Client) (all error) {
	for _, containers := range [][]string{b.nodes, b.keepers} {
		errs := make(chan error, len(containers))
		for _, id := range containers {
			go func() {
				// Or it has ended; some daemons wait before they remove one that runs
				c.Call(ctx, http.MethodPost, "/containers/"+id+"/kill", url.Values{"signal": {"KILL"}}, nil, nil)
				errs <- drop(ctx, c, "/containers/"+id, url.Values{"force": {"true"}, "v": {"true"}})
			}()
		}
		for range containers {
			all = errors.Join(all, <-errs)
		}
	}
	for _, id := range b.networks {
		all = errors.Join(all, drop(ctx, c, "/networks/"+id, nil))
	}
	for _, name := range b.volumes {
		all = errors.Join(all, drop(ctx, c, "/volumes/"+name, url.Values{"force": {"true"}}))
	}
	return all
}

// Removals that another process has begun, and the ends of containers, are waited for.
const (
	dropTries = 50
	dropPause = 100 * time.Millisecond
)

func drop(ctx context.Context, c *docker.Client, path string, query url.Values) error {
	var err error
	for range dropTries {
		err = c.Call(ctx, http.MethodDelete, path, query, nil, nil)
		if err == nil || docker.Missing(err) {
			return nil
		}
		var refused *docker.Error
		if !errors.As(err, &refused) {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(dropPause):
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}
