package open_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// Variables that make this program a writer: the URL, and its name.
const (
	writerURL  = "STORE_TEST_URL"
	writerName = "STORE_TEST_WRITER"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(writerURL); url != "" {
		write(url, os.Getenv(writerName))
		return
	}
	os.Exit(m.Run())
}

// write adds one number after the other, and prints each that the database has confirmed. What it does not take is added again.
func write(url, name string) {
	s, err := open.Open(url)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		err := s.Add(ctx, entryOf(name, i), store.Entry{Key: "same", Value: fmt.Append(nil, i)})
		cancel()
		if err != nil {
			time.Sleep(20 * time.Millisecond) // the database is away, and says nothing when it is back
			continue
		}
		fmt.Println(i)
		i++
	}
}

func entryOf(name string, i int) store.Entry {
	return store.Entry{Key: "log/" + name, Value: fmt.Append(nil, i)}
}

// fleet are writers of which some are killed now and then.
type fleet struct {
	t         *testing.T
	url       func(place int) string // of the writer in a place
	confirmed atomic.Int64

	mu  sync.Mutex
	had map[string]int // how many numbers of each writer were confirmed
}

// place keeps a writer running until ctx ends, and kills it at random moments, on average every half a second.
func (f *fleet) place(ctx context.Context, place int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(place)))
	for life := 0; ctx.Err() == nil; life++ {
		name := fmt.Sprintf("%d.%d", place, life)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerURL+"="+f.url(place), writerName+"="+name)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			f.t.Error(err)
			return
		}
		wait := time.Duration(r.Int64N(int64(time.Second)))
		go func() {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			cmd.Process.Kill()
		}()
		n := 0
		for lines := bufio.NewScanner(out); lines.Scan(); n++ {
			if lines.Text() != fmt.Sprint(n) {
				f.t.Errorf("writer %s prints %q", name, lines.Text())
			}
			f.confirmed.Add(1)
		}
		cmd.Wait()
		f.mu.Lock()
		f.had[name] = n
		f.mu.Unlock()
	}
}

// check reports what a database lacks of all that was confirmed.
func (f *fleet) check(s store.Store) {
	f.t.Helper()
	has := map[string]bool{}
	if _, err := s.Read(f.t.Context(), "", "", func(e store.Entry) error { has[e.Key+"="+string(e.Value)] = true; return nil }); err != nil {
		f.t.Fatal(err)
	}
	all, lost := 0, 0
	for name, n := range f.had {
		for i := range n {
			e := entryOf(name, i)
			all++
			if !has[e.Key+"="+string(e.Value)] || !has["same="+fmt.Sprint(i)] {
				lost++
			}
		}
	}
	f.t.Logf("%d lives of writers, %d confirmed, %d lost", len(f.had), all, lost)
	if lost > 0 || all == 0 {
		f.t.Errorf("%d of %d confirmed entries were lost", lost, all)
	}
	if err := store.Check(f.t.Context(), s, func(what, damage string) { f.t.Errorf("%s: %s", what, damage) }); err != nil {
		f.t.Error(err)
	}
}

// places and span are how many writers there are, and for how long.
func size() (places int, span time.Duration) {
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		return 64, time.Minute
	}
	return 4, 1500 * time.Millisecond
}

// run runs writers, and kills the server twice under way. away is how long it stays away.
func (f *fleet) run(server *storetest.Server, away time.Duration, during func()) {
	places, span := size()
	f.had = map[string]int{}
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for p := range places {
		wg.Go(func() { f.place(ctx, p, 1) })
	}
	for range 2 {
		time.Sleep(span / 3) // the writers work meanwhile
		if server == nil {
			continue
		}
		server.Kill()
		before := f.confirmed.Load()
		time.Sleep(away) // and go on, or wait
		if during != nil && f.confirmed.Load() > before {
			during()
		}
		server.Start()
	}
	time.Sleep(span / 3) // with the server that is back
	cancel()
	wg.Wait()
}

func TestKilledWritersOfAFolder(t *testing.T) {
	folder := t.TempDir()
	f := &fleet{t: t, url: func(int) string { return folder }}
	f.run(nil, 0, nil)
	s, err := open.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f.check(s)
}

// What a server has confirmed is there after it was killed; and what a local database has confirmed reaches a shared one that was away.
func TestKilledServers(t *testing.T) {
	away := 300 * time.Millisecond
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		away = 30 * time.Second
	}
	for name, start := range map[string]func(testing.TB) *storetest.Server{
		"Redis":    func(t testing.TB) *storetest.Server { return storetest.Redis(t) },
		"Postgres": storetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			space := map[string]string{"Redis": "?prefix=", "Postgres": "?schema="}[name]
			t.Run("Direct", func(t *testing.T) {
				url := server.URL + space + "direct"
				f := &fleet{t: t, url: func(int) string { return url }}
				f.run(server, 0, nil)
				s, err := open.Open(url)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				f.check(s)
			})
			t.Run("BehindALocalOne", func(t *testing.T) {
				url, folder := server.URL+space+"behind", t.TempDir()
				layered := func(place int) string { return filepath.Join(folder, fmt.Sprint(place)) + "," + url }
				f := &fleet{t: t, url: layered}
				worked := 0
				f.run(server, away, func() { worked++ })
				if worked == 0 {
					t.Error("writers did not go on while the server was away")
				}
				places, _ := size()
				for p := range places { // the next workers in these folders, which do nothing
					s, err := open.Open(layered(p))
					if err != nil {
						t.Fatal(err)
					}
					if err := s.(*store.Layered).Flush(t.Context()); err != nil {
						t.Error(err)
					}
					s.Close()
				}
				s, err := open.Open(url)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				f.check(s)
			})
		})
	}
}

// A server that keeps its connections and answers nothing is away, too.
func TestSilentServer(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("it waits for a timeout; BLOODHOUND_SOAK=1 runs it")
	}
	server := storetest.Redis(t)
	s, err := open.Open(t.TempDir() + "," + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(value string) {
		t.Helper()
		if err := s.Add(t.Context(), store.Entry{Key: "k", Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	add("before")
	if err := s.(*store.Layered).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	for i := range 30 {
		add(fmt.Sprint(i))
		if got := storetest.All(t, s, ""); len(got) < i+1 {
			t.Fatalf("%q", got)
		}
	}
	server.Continue()
	if err := s.(*store.Layered).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	direct, err := open.Open(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	if got := storetest.All(t, direct, ""); len(got) != 31 || strings.Contains(direct.String(), storetest.Password) {
		t.Errorf("%q", got)
	}
}
