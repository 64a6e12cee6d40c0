package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// readLists reads the transactions of a file, and nothing else of it, if all properties are about transactions over lists. It gives nothing where the
// history is another one, or needs a second look at its events.
func (j *judging) readLists(name string, properties []world.Property) (*recorded, error) {
	size, ok := sizeOfFile(name)
	if !ok || len(properties) == 0 || slices.ContainsFunc(properties, func(p world.Property) bool { return !histories.OverLists(&p) }) {
		return nil, nil
	}
	lists := histories.NewListTransactions(min(eventsOf(name, size), history.MaxEvents) / 2)
	h := &recorded{lists: lists}
	_, err := j.paired(name, h, history.NewPairingEach(lists.Add))
	if err != nil || h.length == 0 || j.inSessions {
		j.inSessions = false
		if errors.Is(err, errUnpaired) {
			err = nil
		}
		return nil, err
	}
	return h, nil
}

// sizeOfFile is the size of a file that can be read again.
func sizeOfFile(name string) (bytes int64, ok bool) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || name == "-" {
		return 0, false
	}
	return info.Size(), true
}

// errUnpaired: the events of a history make no operations.
var errUnpaired = errors.New("events without operations")

// paired reads a history by its operations, and what else is recorded of it.
func (j *judging) paired(name string, h *recorded, pairing *history.Pairing) ([]history.Operation, error) {
	var collector check.Collector
	err := j.readEach(name, func(e *history.Event) error {
		h.length++
		pairing.Add(e)
		collector.Add(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	ops, err := pairing.Operations()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnpaired, err)
	}
	h.evidence = collector.Evidence()
	return ops, nil
}

// read reads a history. Of a file it keeps the operations alone, where the check needs no events: those take as
// much memory again.
func (j *judging) read(name string, byEvents bool) (*recorded, error) {
	if size, ok := sizeOfFile(name); ok && !byEvents {
		h := &recorded{}
		ops, err := j.paired(name, h, history.NewPairing(min(eventsOf(name, size), history.MaxEvents)/2))
		if err != nil && !errors.Is(err, errUnpaired) {
			return nil, err
		}
		if h.ops = ops; len(ops) > 0 {
			return h, nil
		}
	}
	h := &recorded{}
	err := j.readEach(name, func(e *history.Event) error {
		h.events = append(h.events, *e)
		return nil
	})
	h.length, h.evidence = len(h.events), check.EvidenceOf(&record.Outcome{History: h.events})
	return h, err
}

// eventsOf guesses by the beginning of a file how many events it has, one a line. A slice of operations that grows is there twice.
func eventsOf(name string, sizeBytes int64) int {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	start := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, start)
	return int(int64(bytes.Count(start[:n], []byte("\n"))) * sizeBytes / int64(max(n, 1)))
}

// readEach reads a history event by event.
func (j *judging) readEach(name string, do func(*history.Event) error) error {
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%w; give an existing file, or the id of a failure", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return j.readFolder(name, do)
		}
		in = f
	}
	const readAhead = 64 << 10 // by which a format is recognized
	b := bufio.NewReaderSize(in, readAhead)
	if err := formats.SkipMark(b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := formats.Reading{Format: j.formatOf(name, b), Keyed: j.keyed, InOrder: j.inOrder}
	row := formats.Named(r.Format)
	if j.keyed && !row.Keyed {
		return errors.New("--keyed is for EDN, and for JSON with the same fields; other records have a field for the key")
	}
	j.typed, j.inSessions = row.Typed, j.inSessions || row.Sessions
	report := do
	if row.Keyed && !j.keyed && j.model != histories.SetFull {
		report = func(e *history.Event) error {
			if e.Type == history.Invoke && history.IsRead(e.Op) && histories.AsksForPair(e.Key, e.Input) {
				return fmt.Errorf("a read has %s, a key without a value, as jepsen.independent writes them; add --keyed", e.Input)
			}
			return do(e)
		}
	}
	if err := r.ReadEach(b, report); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readFolder reads a history that is a folder.
func (j *judging) readFolder(name string, do func(*history.Event) error) error {
	j.inSessions = true
	events, err := formats.ReadFolder(os.DirFS(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i := range events {
		if err := do(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// formatOf is the format of a file: the one that is asked for, or else the one by which it is recognized.
func (j *judging) formatOf(name string, b *bufio.Reader) formats.Format {
	switch {
	case j.format != "":
		return formats.Format(j.format)
	case j.edn:
		return formats.EDN
	}
	start, _ := b.Peek(b.Size())
	return formats.Recognize(name, start)
}

// formatNames are the words of --format.
func formatNames() (list []string) {
	for i := range formats.Table {
		list = append(list, string(formats.Table[i].Format))
	}
	return list
}
