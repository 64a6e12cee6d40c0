package fleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

// dbFlags are those that verbs about one database have.
type dbFlags struct {
	store string
	json  bool
}

func (f *dbFlags) flags(c *cobra.Command) {
	database.AddStoreFlag(c, &f.store, "")
}

func (f *dbFlags) document(c *cobra.Command) {
	flags.AddSwitch(c, &f.json, "json", "print one JSON document and nothing else")
}

// url names the database that the flags and the environment name.
func (f *dbFlags) url() string { return database.StoreURL(f.store, open.Default) }

// MovedDocument is the JSON document of db merge and db import.
type MovedDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	Store      string `json:"store"` // that was added to
	Entries    int    `json:"entries"`
	Blobs      int    `json:"blobs"`
}

func dbMergeVerb(a *console.App) *cobra.Command {
	var f dbFlags
	c := &cobra.Command{
		Use:   "merge FROM... INTO",
		Short: "Merge databases into another one",
		Long: `Merging is a union: the order does not matter, and merging again changes nothing.
Each FROM and INTO is ` + open.Kinds + `.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("db merge needs one or more sources and a target: bloodhound db merge FROM... INTO")
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			from, into := args[:len(args)-1], args[len(args)-1]
			for _, url := range from { // before a folder is made for what they have
				s, err := open.Existing(url)
				if err != nil {
					return err
				}
				s.Close()
			}
			return database.WithStore(ctx, a, into, open.Open, func(to store.Store) error {
				doc := MovedDocument{Bloodhound: program.Version(), Verb: "db merge", Store: to.String()}
				damaged := 0
				for _, url := range from {
					if err := database.WithStore(ctx, a, url, open.Existing, func(s store.Store) error {
						m, err := store.Merge(ctx, to, s)
						doc.Entries, doc.Blobs = doc.Entries+m.Entries, doc.Blobs+m.Blobs
						damaged += len(database.NoteDamages(a, s))
						return err
					}); err != nil {
						return program.WithCode(console.CodeOf(err), err)
					}
				}
				database.NoteDamages(a, to)
				if damaged > 0 {
					return program.WithCode(check.ExitEngine,
						fmt.Errorf("added %s and %s to %s, without the damaged parts; `bloodhound db fsck` lists the damage",
							plural.Count(doc.Entries, "entry"), plural.Count(doc.Blobs, "blob"), doc.Store))
				}
				if f.json {
					return a.PrintJSON(doc)
				}
				fmt.Fprintf(a.Out, "added %s and %s to %s\n", plural.Count(doc.Entries, "entry"), plural.Count(doc.Blobs, "blob"), doc.Store)
				return nil
			})
		},
	}
	f.document(c)
	return c
}

// exportFormat is the first line of an export; the number at its end is the version.
const (
	exportWords   = "bloodhound database "
	exportVersion = 1
)

var exportFormat = exportWords + strconv.Itoa(exportVersion)

// exportLine is one of an export: the first has the format, the others a blob or an entry each. Blobs stand before entries, which may name them.
type exportLine struct {
	Format string       `json:"format,omitempty"`
	Blob   store.Digest `json:"blob,omitempty"`
	Key    string       `json:"key,omitempty"`
	Value  *string      `json:"value,omitempty"`  // of an entry, where it is text
	Base64 []byte       `json:"base64,omitempty"` // of a blob or an entry
}

func dbExportVerb(a *console.App) *cobra.Command {
	var f dbFlags
	var output string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write a database as JSON lines",
		Long: "Write blobs first, then entries, each in order, so equal databases give equal files. Values that are" +
			" UTF-8 are written as text; other values, and blobs, as base64. `bloodhound db import` reads the " +
			"file.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
				if output == "" {
					return whole(a, s, exportTo(c.Context(), a.JSON, s))
				}
				file, err := os.Create(output)
				if err != nil {
					return database.AsMistake(err)
				}
				err = exportTo(c.Context(), file, s)
				if closing := file.Close(); err == nil {
					err = closing
				}
				return whole(a, s, err)
			})
		},
	}
	f.flags(c)
	c.Flags().VarP(flags.File(&output), "output", "o", "write to this `file` instead of standard output")
	return c
}

// whole is the error of an export: one of a damaged database lacks something.
func whole(a *console.App, s store.Store, err error) error {
	if len(database.NoteDamages(a, s)) > 0 && err == nil {
		return errors.New("the export lacks the damaged parts")
	}
	return err
}

func exportTo(ctx context.Context, w io.Writer, s store.Store) error {
	buffer := bufio.NewWriter(w)
	out := json.NewEncoder(buffer)
	out.SetEscapeHTML(false)
	if err := out.Encode(exportLine{Format: exportFormat}); err != nil {
		return err
	}
	var digests []store.Digest
	if err := s.Blobs(ctx, func(i store.BlobInfo) error { digests = append(digests, i.Digest); return nil }); err != nil {
		return err
	}
	slices.Sort(digests)
	for _, d := range slices.Compact(digests) {
		b, err := s.Blob(ctx, d)
		if errors.Is(err, store.ErrNoBlob) {
			continue // dropped since it was listed
		}
		if err == nil {
			err = out.Encode(exportLine{Blob: d, Base64: b})
		}
		if err != nil {
			return err
		}
	}
	var entries []store.Entry
	if _, err := s.Read(ctx, "", "", func(e store.Entry) error { entries = append(entries, e); return nil }); err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b store.Entry) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), bytes.Compare(a.Value, b.Value))
	})
	entries = slices.CompactFunc(entries, func(a, b store.Entry) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) })
	for _, e := range entries {
		l := exportLine{Key: e.Key}
		if utf8.Valid(e.Value) {
			text := string(e.Value)
			l.Value = &text
		} else {
			l.Base64 = e.Value
		}
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

func dbImportVerb(a *console.App) *cobra.Command {
	var f dbFlags
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Add a file of db export to a database",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("usage: bloodhound db import FILE; FILE is an export, or - for standard input")
			}
			return flags.NoneEmpty(args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			in, name := io.Reader(os.Stdin), "standard input"
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in, name = file, args[0]
			}
			return database.WithStore(c.Context(), a, f.url(), open.Open, func(s store.Store) error {
				doc := MovedDocument{Bloodhound: program.Version(), Verb: "db import", Store: s.String()}
				if err := importFrom(c.Context(), in, name, s, &doc); err != nil {
					return err
				}
				if f.json {
					return a.PrintJSON(doc)
				}
				fmt.Fprintf(a.Out, "read %s and %s into %s\n", plural.Count(doc.Entries, "entry"), plural.Count(doc.Blobs, "blob"), doc.Store)
				return nil
			})
		},
	}
	f.flags(c)
	f.document(c)
	return c
}

func importFrom(ctx context.Context, in io.Reader, name string, s store.Store, doc *MovedDocument) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	lines.DisallowUnknownFields()
	adds := store.Bundler{To: s}
	defer func() { doc.Entries = adds.Added }()
	for n := 1; ; n++ {
		var l exportLine
		err := lines.Decode(&l)
		wrong := func(text string) error {
			if err := adds.Flush(ctx); err != nil {
				return err
			}
			return database.AsMistake(fmt.Errorf("%s:%d: %s; the lines before it are already in %s", name, n, text, s))
		}
		switch {
		case n == 1 && laterExport(l.Format):
			return database.AsMistake(fmt.Errorf("%s has the export format %q, and this bloodhound reads %q: a "+
				"later bloodhound wrote it, so import it with that version",
				name, l.Format, exportFormat))
		case n == 1 && (err != nil || l.Format != exportFormat):
			return database.AsMistake(fmt.Errorf("%s is not a file of db export: its first line is not %q", name, `{"format":"`+exportFormat+`"}`))
		case n == 1:
			continue
		case err == io.EOF:
			return adds.Flush(ctx)
		case err != nil:
			return wrong(err.Error())
		case l.Blob != "":
			if store.DigestOf(l.Base64) != l.Blob {
				return wrong("the blob does not match its digest")
			}
			if _, err := s.PutBlob(ctx, l.Base64); err != nil {
				return err
			}
			doc.Blobs++
		default:
			e := store.Entry{Key: l.Key, Value: l.Base64}
			if l.Value != nil {
				e.Value = []byte(*l.Value)
			}
			if err := e.Check(); err != nil {
				return wrong(err.Error())
			}
			if err := adds.Add(ctx, e); err != nil {
				return err
			}
		}
	}
}

// laterExport reports whether the first line of an export names a version that this program does not know. Then its other fields may
// also be unknown.
func laterExport(format string) bool {
	digits, ok := strings.CutPrefix(format, exportWords)
	version, err := strconv.Atoi(digits)
	return ok && err == nil && version > exportVersion
}

// UpgradeDocument is the JSON document of db upgrade.
type UpgradeDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	Store      string `json:"store"`
	store.Upgraded
}

func dbUpgradeVerb(a *console.App) *cobra.Command {
	var f dbFlags
	c := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade a database to the version that this program writes",
		Long: "Upgrade a folder that an earlier Bloodhound wrote, in place. A second upgrade changes nothing. An " +
			"interrupted upgrade leaves the database readable, and the same command continues.\n\n" +
			"The program that serves a database upgrades databases on servers. No command reads a database of a " +
			"later version than its own.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
				doc := UpgradeDocument{Bloodhound: program.Version(), Verb: "db upgrade", Store: s.String()}
				var err error
				if doc.Upgraded, err = store.Upgrade(c.Context(), s); errors.Is(err, store.ErrNoUpgrade) {
					return database.AsMistake(fmt.Errorf("cannot upgrade %s: %w; give the path of a folder", s, err))
				}
				if err != nil {
					return err
				}
				switch {
				case f.json:
					return a.PrintJSON(doc)
				case doc.From == doc.To:
					fmt.Fprintf(a.Out, "%s has version %d already: nothing to do\n", s, doc.To)
				default:
					fmt.Fprintf(a.Out, "upgraded %s from version %d to %d\n", s, doc.From, doc.To)
				}
				return nil
			})
		},
	}
	f.flags(c)
	f.document(c)
	return c
}

// GCDocument is the JSON document of db gc.
type GCDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	Store      string `json:"store"`
	DryRun     bool   `json:"dry_run"`
	Entries    int    `json:"entries"` // that were stored more than once
	Blobs      int    `json:"blobs"`   // to which no entry refers
	BlobBytes  int64  `json:"blob_bytes"`
	fleet.Packed
}

// keepBlobs is how long a blob is kept in any case: the entry that names it may be under way.
const keepBlobs = time.Hour

func dbGCVerb(a *console.App) *cobra.Command {
	var f dbFlags
	var dry bool
	keep, old := keepBlobs, fleet.PackAfter
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove duplicates and unused blobs from a database, and pack old entries",
		Long: "Pack spans of effort that ended more than --pack ago, many into one entry. Remove counts of " +
			"faults and verdicts that the same worker has replaced by later ones. Remove all but one of the " +
			"entries that several writers of a folder added, and blobs that no entry refers to.\n\nBlobs added " +
			"less than --keep ago stay, because their entry may not have arrived yet. Workers may continue meanwhile.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
				doc := GCDocument{Bloodhound: program.Version(), Verb: "db gc", Store: s.String(), DryRun: dry}
				var err error
				if doc.Packed, err = fleet.Pack(c.Context(), s, time.Now().Add(-old), dry); err != nil {
					return err
				}
				if err := collect(c.Context(), s, keep, &doc); err != nil {
					return err
				}
				if f.json {
					return a.PrintJSON(doc)
				}
				did := "removed"
				if dry {
					did = "would remove"
				}
				if doc.Spans > 0 {
					packed := "packed"
					if dry {
						packed = "would pack"
					}
					fmt.Fprintf(a.Out, "%s %s of spans into %d\n", packed, plural.Count(doc.Spans, "entry"), doc.Packs)
				}
				if doc.Counts > 0 {
					fmt.Fprintf(a.Out, "%s %s of runs and heartbeats that later ones replace\n", did, plural.Count(doc.Counts, "count"))
				}
				fmt.Fprintf(a.Out, "%s %s stored more than once, and %s that no entry refers to (%s)\n", did,
					plural.Count(doc.Entries, "entry"), plural.Count(doc.Blobs, "blob"), project.Megabytes(doc.BlobBytes))
				return nil
			})
		},
	}
	f.flags(c)
	f.document(c)
	flags.AddSwitch(c, &dry, "dry-run", "only report, change nothing")
	c.Flags().Var(program.Time(&old), "pack", "pack spans that ended more than this `time` ago")
	c.Flags().Var(program.Time(&keep), "keep", "keep blobs that were added less than this `time` ago")
	return c
}

// collect removes repeated entries, and blobs that no entry names. Blobs are listed before entries are read: an entry
// that comes later names a blob that was put after the list was made, or that is young.
func collect(ctx context.Context, s store.Store, keep time.Duration, doc *GCDocument) error {
	loose := map[store.Digest]int64{}
	if err := s.Blobs(ctx, func(i store.BlobInfo) error {
		if time.Since(i.At) > keep {
			loose[i.Digest] = i.SizeBytes
		}
		return nil
	}); err != nil {
		return err
	}
	seen := map[store.Identity]bool{}
	repeated := 0
	if _, err := s.Read(ctx, "", "", func(e store.Entry) error {
		if id := e.Identity(); seen[id] {
			repeated++
		} else {
			seen[id] = true
		}
		named([]byte(e.Key), loose)
		named(e.Value, loose)
		return nil
	}); err != nil {
		return err
	}
	if list := store.Damages(s); len(list) > 0 { // what cannot be read may name blobs, and equal entries may be all that is left
		return fmt.Errorf("%s is damaged: %s: %s; repair it first (`bloodhound db fsck` lists the damage); no duplicates and no blobs were removed",
			s, list[0].What, list[0].Damage)
	}
	for _, d := range slices.Sorted(maps.Keys(loose)) {
		doc.Blobs++
		doc.BlobBytes += loose[d]
		if doc.DryRun {
			continue
		}
		if err := s.DropBlob(ctx, d); err != nil {
			return err
		}
	}
	if doc.Entries = repeated; doc.DryRun {
		return nil
	}
	var err error
	doc.Entries, err = s.Compact(ctx)
	return err
}

// named removes from a set the digests that stand in a text.
func named(text []byte, loose map[store.Digest]int64) {
	const digits = 64
	run := 0 // of hexadecimal digits
	for i, c := range text {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			run++
		} else {
			run = 0
		}
		if run >= digits {
			delete(loose, store.Digest(text[i+1-digits:i+1]))
		}
	}
}

// FsckDocument is the JSON document of db fsck.
type FsckDocument struct {
	Bloodhound string         `json:"bloodhound"`
	Verb       string         `json:"verb"`
	ExitCode   int            `json:"exit_code"`
	Store      string         `json:"store"`
	Damages    []store.Damage `json:"damages"`
}

func dbFsckVerb(a *console.App) *cobra.Command {
	var f dbFlags
	c := &cobra.Command{
		Use:   "fsck",
		Short: "Read a whole database and report damage",
		Long: "Read all entries and blobs, and compare checksums and digests. Nothing is changed. The end of an " +
			"interrupted write does not count as damage.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
				doc := FsckDocument{Bloodhound: program.Version(), Verb: "db fsck", Store: s.String(), Damages: []store.Damage{}}
				if err := store.Check(c.Context(), s,
					func(what, damage string) { doc.Damages = append(doc.Damages, store.Damage{What: what, Damage: damage}) }); err != nil {
					return err
				}
				if len(doc.Damages) > 0 {
					doc.ExitCode = check.ExitEngine
				}
				a.Code = doc.ExitCode
				if f.json {
					return a.PrintJSON(doc)
				}
				for _, d := range doc.Damages {
					fmt.Fprintf(a.Out, "%s: %s\n", d.What, d.Damage)
				}
				if len(doc.Damages) == 0 {
					fmt.Fprintf(a.Out, "%s has no damage\n", doc.Store)
				}
				return nil
			})
		},
	}
	f.flags(c)
	f.document(c)
	return c
}

// StatDocument is the JSON document of db stat.
type StatDocument struct {
	Bloodhound string     `json:"bloodhound"`
	Verb       string     `json:"verb"`
	Store      string     `json:"store"`
	Entries    int        `json:"entries"` // each once
	Bytes      int64      `json:"bytes"`   // of their keys and values
	Repeated   int        `json:"repeated"`
	Kinds      []kindLine `json:"kinds"`
	Blobs      int        `json:"blobs"`
	BlobBytes  int64      `json:"blob_bytes"` // as they are stored
	// Damages are those that reading has found: what lies behind them is not counted.
	Damages []store.Damage `json:"damages,omitempty"`
}

// kindLine counts the entries whose keys have the same first part.
type kindLine struct {
	Kind    string `json:"kind"`
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

func dbStatVerb(a *console.App) *cobra.Command {
	var f dbFlags
	c := &cobra.Command{
		Use:   "stat",
		Short: "Count the entries and blobs of a database",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
				doc := StatDocument{Bloodhound: program.Version(), Verb: "db stat", Store: s.String(), Kinds: []kindLine{}}
				if err := count(c.Context(), s, &doc); err != nil {
					return err
				}
				doc.Damages = database.NoteDamages(a, s)
				if f.json {
					return a.PrintJSON(doc)
				}
				w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
				fmt.Fprintln(w, "KIND\tENTRIES\tBYTES\t")
				for _, k := range append(doc.Kinds, kindLine{"all", doc.Entries, doc.Bytes}, kindLine{"blobs", doc.Blobs, doc.BlobBytes}) {
					fmt.Fprintf(w, "%s\t%d\t%d\t\n", k.Kind, k.Entries, k.Bytes)
				}
				if err := w.Flush(); err != nil || doc.Repeated == 0 {
					return err
				}
				fmt.Fprintf(a.Out, "%s; `bloodhound db gc` removes them\n", plural.Count(doc.Repeated, "duplicate"))
				return nil
			})
		},
	}
	f.flags(c)
	f.document(c)
	return c
}

func count(ctx context.Context, s store.Store, doc *StatDocument) error {
	seen := map[store.Identity]bool{}
	kinds := map[string]kindLine{}
	if _, err := s.Read(ctx, "", "", func(e store.Entry) error {
		id := e.Identity()
		if seen[id] {
			doc.Repeated++
			return nil
		}
		seen[id] = true
		kind, _, _ := strings.Cut(e.Key, "/")
		size := int64(len(e.Key) + len(e.Value))
		k := kinds[kind]
		kinds[kind] = kindLine{kind, k.Entries + 1, k.Bytes + size}
		doc.Entries, doc.Bytes = doc.Entries+1, doc.Bytes+size
		return nil
	}); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		doc.Kinds = append(doc.Kinds, kinds[kind])
	}
	return s.Blobs(ctx, func(i store.BlobInfo) error {
		doc.Blobs, doc.BlobBytes = doc.Blobs+1, doc.BlobBytes+i.SizeBytes
		return nil
	})
}
