package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// Variables that make this program a worker of a store, with a local one in a folder, or a server of a folder.
const (
	storeVariable  = "BLOODHOUND_FLEET_TEST_STORE"
	localVariable  = "BLOODHOUND_FLEET_TEST_LOCAL"
	serveVariable  = "BLOODHOUND_FLEET_TEST_SERVE"
	folderVariable = "BLOODHOUND_FLEET_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	run := func(f func() error) {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if url := os.Getenv(storeVariable); url != "" {
		run(func() error { return workerProcess(url, os.Getenv(localVariable)) })
	}
	if address := os.Getenv(serveVariable); address != "" {
		run(func() error { return serverProcess(address, os.Getenv(folderVariable)) })
	}
	os.Exit(m.Run())
}

// scale is how many workers there are, for how many seconds a third of them is killed in each, how long a store is away meanwhile, and how long a run takes.
func scale() (workers, rounds int, away, pause time.Duration) {
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		return 64, 60, 30 * time.Second, 50 * time.Millisecond
	}
	return 6, 3, 300 * time.Millisecond, 3 * time.Millisecond
}

// workerProcess is a worker that prints what it has written.
func workerProcess(url, local string) error {
	s, err := open.ForWorker(url, local)
	if err != nil {
		return err
	}
	_, _, _, pause := scale()
	w := newWorker(&printing{s}, fmt.Sprint("w", os.Getpid(), "-", time.Now().UnixNano()), &fake{name: "a", commit: "1", bugs: true, pause: pause})
	w.For = 0
	_, err = w.Run(context.Background())
	return err
}

// serverProcess serves the store of a folder.
func serverProcess(address, folder string) error {
	d, err := store.OpenDir(folder)
	if err != nil {
		return err
	}
	return http.ListenAndServe(address, remote.Handler(d, ""))
}

// printing prints the entries that were added, each when it is durable.
type printing struct{ store.Store }

func (p *printing) Add(ctx context.Context, entries ...store.Entry) error {
	err := p.Store.Add(ctx, entries...)
	if err != nil {
		return err
	}
	var b []byte
	for _, e := range entries {
		b = append(b, lineOf(e)...)
	}
	os.Stdout.Write(b)
	return nil
}

func lineOf(e store.Entry) string {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

// crowd are worker processes of which a third is killed each second.
type crowd struct {
	t       *testing.T
	url     string
	folder  string // of local stores
	readers sync.WaitGroup

	mu   sync.Mutex
	said map[string]bool // entries that a worker had written
}

// start starts the worker of a place. The next one in its place has the same local store.
func (c *crowd) start(place int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), storeVariable+"="+c.url, localVariable+"="+c.local(place))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.readers.Go(func() {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a line that was cut short says nothing
			}
			c.mu.Lock()
			c.said[line] = true
			c.mu.Unlock()
		}
	})
	return cmd
}

func (c *crowd) local(place int) string { return filepath.Join(c.folder, fmt.Sprint(place)) }

// run lets workers work. The server, if there is one, is killed twice: it stays away for a time, and then is back at once.
func (c *crowd) run(server *storetest.Server) (kills int) {
	workers, rounds, away, _ := scale()
	c.said = map[string]bool{}
	list := make([]*exec.Cmd, workers)
	for i := range list {
		list[i] = c.start(i)
	}
	var back <-chan time.Time
	for round := range rounds {
		if server != nil && round == rounds/4 {
			server.Kill()
			back = time.After(away)
		}
		if server != nil && round == rounds-1 {
			server.Kill()
			server.Start()
		}
		time.Sleep(time.Second) // processes are killed at whatever they do then
		select {
		case <-back:
			server.Start()
		default:
		}
		for i := round % 3; i < workers; i += 3 {
			kills++
			list[i].Process.Kill()
			list[i].Process.Wait()
			list[i] = c.start(i)
		}
	}
	for _, cmd := range list {
		kills++
		cmd.Process.Kill()
		cmd.Process.Wait()
	}
	c.readers.Wait()
	return kills
}

// check compares what a store has with what workers had written.
func (c *crowd) check(s store.Store, kills int) {
	t := c.t
	has := map[string]bool{}
	if _, err := s.Read(t.Context(), "", "", func(e store.Entry) error { has[lineOf(e)] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	lost := 0
	features := map[uint64]bool{}
	for line := range c.said {
		if !has[line] {
			lost++
		}
		var e store.Entry
		var f records.Found
		if json.Unmarshal([]byte(line), &e) == nil && strings.HasPrefix(e.Key, "found/") && json.Unmarshal(e.Value, &f) == nil {
			for _, id := range f.IDs() {
				features[id] = true
			}
		}
	}
	v := viewOf(t, s)
	test := v.Test(records.TestID("a"))
	known, runs := 0, uint64(0)
	for _, e := range test.Efforts {
		known, runs = len(e.Features), e.Runs()
	}
	t.Logf("%d workers were killed; %d runs, %d records, %d lost; %d features, %d failures", kills, runs, len(c.said), lost, known, len(test.Failures))
	workers, _, _, _ := scale()
	if lost > 0 || len(c.said) < workers || known < len(features) || len(features) < 10 || len(test.Failures) != 2 {
		t.Errorf("%d of %d records are lost; %d features of %d", lost, len(c.said), known, len(features))
	}
}

// Of many worker processes a third is killed every second. Nothing that a worker had written is lost, and what is known is the
// union; also where the server of the store is killed under way, and away for a while.
func TestKilledWorkers(t *testing.T) {
	t.Run("Folder", func(t *testing.T) {
		path := t.TempDir()
		c := &crowd{t: t, url: path}
		kills := c.run(nil)
		d, err := store.OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		c.check(d, kills)
		if leases, _ := filepath.Glob(filepath.Join(path, "lease", "*.new")); len(leases) > 1 {
			t.Errorf("%d files are left over", len(leases))
		}
	})
	for name, start := range map[string]func(*testing.T) *storetest.Server{
		"PostgreSQL": func(t *testing.T) *storetest.Server { return storetest.Postgres(t) },
		"Redis":      func(t *testing.T) *storetest.Server { return storetest.Redis(t) },
		"HTTP": func(t *testing.T) *storetest.Server {
			return storetest.Program(t, func(address, folder string) []string {
				return []string{"env", serveVariable + "=" + address, folderVariable + "=" + filepath.Join(folder, "store"), os.Args[0]}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			c := &crowd{t: t, url: server.URL, folder: t.TempDir()}
			kills := c.run(server)
			workers, _, _, _ := scale()
			for place := range workers { // the next workers in these folders, which do nothing
				s, err := open.ForWorker(c.url, c.local(place))
				if err == nil {
					err = s.(*store.Layered).Flush(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			}
			s, err := open.Open(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c.check(s, kills)
		})
	}
}
