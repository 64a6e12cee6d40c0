package dashboard

import (
	"fmt"
	"net/http"
	"time"
)

// How often a page hears of changes, and that there are none.
const (
	eventsApart = 2 * time.Second
	heartbeat   = 15 * time.Second
)

// events reports the version of the model, as server-sent events: at once, and when it changes.
func (d *Dashboard) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy
	out := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		state, changed := d.model.State()
		fmt.Fprintf(w, "data: %d\n\n", state.Version)
		if out.Flush() != nil {
			return
		}
		for waiting := true; waiting; {
			select {
			case <-changed:
				waiting = false
			case <-beat.C:
				fmt.Fprint(w, ": \n\n")
				if out.Flush() != nil {
					return
				}
			case <-r.Context().Done():
				return
			}
		}
		select { // changes that come close together are one
		case <-time.After(eventsApart):
		case <-r.Context().Done():
			return
		}
	}
}
