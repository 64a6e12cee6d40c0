package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often progress is shown: as a line that changes on a terminal, as further lines elsewhere.
const (
	terminalInterval = 200 * time.Millisecond
	plainInterval    = 10 * time.Second
)

// progress shows how far long work has come. It is safe for concurrent use.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	quiet    bool
	began    time.Time
	shown    time.Time
	dirty    bool // a line without its end is on the terminal
}

// newProgress shows progress on w; plain asks for lines also on a terminal.
func newProgress(w io.Writer, plain, quiet bool) *progress {
	p := &progress{w: w, quiet: quiet, began: time.Now()}
	p.shown = p.began
	if f, ok := w.(*os.File); ok && !plain {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	return p
}

// show writes a line if the last one is old enough; text is called only then.
func (p *progress) show(text func(elapsed time.Duration) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := plainInterval
	if p.terminal {
		interval = terminalInterval
	}
	now := time.Now()
	if p.quiet || now.Sub(p.shown) < interval {
		return
	}
	p.shown = now
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", text(now.Sub(p.began)))
		p.dirty = true
	} else {
		fmt.Fprintln(p.w, text(now.Sub(p.began)))
	}
}

// note writes a line that stays, above the one that changes.
func (p *progress) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, text)
}

// end takes the changing line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) clear() {
	if p.dirty {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirty = false
	}
}
