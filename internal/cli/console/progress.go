package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// How often progress is shown: as a line that changes on a terminal, as further lines elsewhere.
const (
	terminalInterval = 200 * time.Millisecond
	plainInterval    = 5 * time.Second
	firstInterval    = time.Second // until the first line, of work that takes long
)

// Progress shows how far long work has come. It is safe for concurrent use.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	colour   bool
	columns  func() int // of the terminal
	quiet    bool
	Began    time.Time
	shown    time.Time
	dirty    bool // a line without its end is on the terminal
}

// wantsColour reports whether the environment lets a terminal have colours (no-color.org).
func wantsColour() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// NewProgress shows progress on w; plain asks for lines also on a terminal.
func NewProgress(w io.Writer, plain, quiet bool) *Progress {
	p := &Progress{w: w, quiet: quiet, Began: time.Now()}
	p.shown = p.Began
	if f, ok := w.(*os.File); ok && !plain {
		fd := int(f.Fd())
		p.terminal = term.IsTerminal(fd)
		p.colour = p.terminal && wantsColour()
		p.columns = func() int {
			if columns, _, err := term.GetSize(fd); err == nil && columns > 0 {
				return columns
			}
			return fallbackColumns
		}
	}
	return p
}

// fallbackColumns is how wide a terminal is that does not report its width.
const fallbackColumns = 80

// Every has a line shown while work is under way, also when nothing happens, the first one soon. The function that it returns ends
// that.
func (p *Progress) Every(parts func(elapsed time.Duration) []Part) (stop func()) {
	p.mu.Lock()
	if !p.terminal {
		p.shown = time.Now().Add(firstInterval - plainInterval)
	}
	p.mu.Unlock()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(terminalInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				p.ShowParts(parts)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// Part is a piece of a line of progress. Commas separate the parts. Where there is too little room, unimportant parts are dropped first.
type Part struct {
	Text   string
	Colour Colour
}

// Colour is one of a terminal's (ECMA-48, SGR).
type Colour string

const (
	NoColour Colour = ""
	Bold     Colour = "1"
	Red      Colour = "1;31"
	Green    Colour = "32"
	Grey     Colour = "90"
)

// Line joins as many parts as fit into a number of columns; 0 means unlimited.
func Line(parts []Part, columns int, coloured bool) string {
	text, width := "", 0
	for i, x := range parts {
		divider := ""
		if i > 0 {
			divider = ", "
		}
		n := utf8.RuneCountInString(divider + x.Text)
		if columns > 0 && width+n >= columns {
			break
		}
		width += n
		if coloured && x.Colour != NoColour {
			text += divider + "\x1b[" + string(x.Colour) + "m" + x.Text + "\x1b[0m"
		} else {
			text += divider + x.Text
		}
	}
	return text
}

// ShowParts is show for a line of parts.
func (p *Progress) ShowParts(parts func(elapsed time.Duration) []Part) {
	p.Show(func(elapsed time.Duration) string {
		columns := 0
		if p.terminal {
			columns = p.columns()
		}
		return Line(parts(elapsed), columns, p.colour)
	})
}

// Show writes a line if the last one is old enough; text is called only then.
func (p *Progress) Show(text func(elapsed time.Duration) string) {
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
		fmt.Fprintf(p.w, "\r\x1b[K%s", text(now.Sub(p.Began)))
		p.dirty = true
	} else {
		fmt.Fprintln(p.w, text(now.Sub(p.Began)))
	}
}

// Note writes a line that stays, above the one that changes.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintln(p.w, report.Printable(text))
}

// End takes the changing line away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.dirty {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirty = false
	}
}
