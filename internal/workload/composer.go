package workload

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// templatesDir is where Antithesis' Test Composer looks for test templates.
const templatesDir = "/opt/antithesis/test/v1"

// Prefixes of test commands, which say when they run.
const (
	first      = "first"
	parallel   = "parallel_driver"
	serial     = "serial_driver"
	singleton  = "singleton_driver"
	eventually = "eventually"
	finally    = "finally"
	anytime    = "anytime"
)

var prefixes = []string{first, parallel, serial, singleton, eventually, finally, anytime}

// Pauses of the composer: between the starts of drivers, and between anytime commands. One of them is drawn each time.
var (
	driverGaps  = []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second}
	anytimeGaps = []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second}
)

// plan lists the commands of one run of a template. The whole plan is drawn before the first command starts.
type plan struct {
	first     string        // the command that runs before all others, if any
	singleton string        // the only driver of this run; empty is a mix of the others
	width     int           // how many parallel drivers may run at once
	last      string        // the command that ends the run, if any
	cut       time.Duration // when an eventually_ stops all drivers
}

// composer runs the commands of a template.
type composer struct {
	commands map[string][]string // by prefix, in the order of names
	dice     *dice
	duration time.Duration
	start    time.Time
	dir      string
	sdk      *os.File // what an SDK would write: each command's end is an assertion
	out      io.Writer

	mu      sync.Mutex
	running map[*exec.Cmd]bool // drivers
	over    bool               // drivers are stopped: none starts any more, and how they end has no meaning
}

func compose(getenv func(string) string, orders io.Reader, out io.Writer) error {
	var w world.Workload
	if err := json.Unmarshal([]byte(getenv(envDriver)), &w); err != nil {
		return fmt.Errorf("%s is not a workload: %w", envDriver, err)
	}
	if _, err := awaitOrder(bufio.NewReader(orders)); err != nil {
		return err
	}
	seed, err := drawSeed()
	if err != nil {
		return err
	}
	d := newDice(seed, 0, 0)
	dir, err := chooseTemplate(cmp.Or(w.Options["template"], templatesDir), d)
	if err != nil {
		return err
	}
	c := &composer{dice: d, duration: time.Duration(w.DurationNs), dir: dir, out: out, running: map[*exec.Cmd]bool{}}
	if c.commands, err = readTemplate(dir); err != nil {
		return err
	}
	if path := getenv("ANTITHESIS_SDK_LOCAL_OUTPUT"); path != "" {
		if c.sdk, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			return err
		}
		defer c.sdk.Close()
	}
	return c.run(max(w.Clients, 1))
}

// chooseTemplate takes a folder of templates or a template. All commands of a run are of one template.
func chooseTemplate(dir string, d *dice) (string, error) {
	templates, err := templatesIn(dir)
	if err != nil || len(templates) == 1 && templates[0] == dir {
		return dir, err
	}
	return templates[d.below(uint64(len(templates)))], nil
}

// templatesIn lists the templates of a folder, or the folder itself if it is one.
func templatesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("no test template: %w", err)
	}
	var templates []string
	for _, e := range entries {
		if prefixOf(e.Name()) != "" {
			return []string{dir}, nil
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			templates = append(templates, path)
		}
	}
	if len(templates) == 0 {
		return nil, fmt.Errorf("%s holds no test template: neither commands such as parallel_driver_NAME nor folders of them", dir)
	}
	return templates, nil
}

// prefixOf is the kind of a test command, by its name; empty for files that are none.
func prefixOf(name string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p+"_") && len(name) > len(p)+1 {
			return p
		}
	}
	return ""
}

func readTemplate(dir string) (map[string][]string, error) {
	entries, err := os.ReadDir(dir) // in the order of names
	if err != nil {
		return nil, err
	}
	commands := map[string][]string{}
	for _, e := range entries {
		p := prefixOf(e.Name())
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case p == "" || err == nil && info.IsDir():
			continue
		case err != nil:
			return nil, err
		case info.Mode()&0o111 == 0:
			return nil, fmt.Errorf("the test command %s is not executable; chmod +x it", path)
		}
		commands[p] = append(commands[p], e.Name())
	}
	if len(commands[parallel])+len(commands[serial])+len(commands[singleton])+len(commands[anytime]) == 0 {
		return nil, fmt.Errorf("template %s has no command of parallel_driver_, serial_driver_, singleton_driver_ or anytime_", dir)
	}
	return commands, nil
}

func (c *composer) pick(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[c.dice.below(uint64(len(list)))]
}

// plan draws what a run does.
func (c *composer) plan(clients int) plan {
	p := plan{first: c.pick(c.commands[first]), width: 1 + int(c.dice.below(uint64(clients)))}
	alone := len(c.commands[singleton])
	ways := alone
	if len(c.commands[parallel])+len(c.commands[serial]) > 0 {
		ways++
	}
	if ways > 0 {
		if k := int(c.dice.below(uint64(ways))); k < alone {
			p.singleton = c.commands[singleton][k]
		}
	}
	p.last = c.pick(slices.Concat(c.commands[eventually], c.commands[finally]))
	if prefixOf(p.last) == eventually {
		p.cut = c.duration/4 + time.Duration(c.dice.below(uint64(c.duration*3/4)+1))
	}
	return p
}

func (c *composer) run(clients int) error {
	for _, p := range prefixes {
		for _, name := range c.commands[p] {
			c.report(name, false, true, nil) // the catalog: a command that never runs in a campaign shows
		}
	}
	p := c.plan(clients)
	if p.first != "" {
		if err := c.command(p.first, false); err != nil {
			return err
		}
	}
	if err := control(world.FaultsOnLine); err != nil {
		return err
	}
	c.start = time.Now()
	stop := make(chan struct{}) // no new anytime command
	anytimes := make(chan error, 1)
	d := newDice(c.dice.next(), 1, 0)
	go func() { anytimes <- c.anytimes(stop, d) }()
	drivers := make(chan error, 1)
	go func() { drivers <- c.drivers(p) }()
	var errs []error
	if p.cut > 0 {
		select {
		case err := <-drivers:
			errs = append(errs, err)
			drivers = nil
			time.Sleep(p.cut - time.Since(c.start))
		case <-time.After(p.cut):
		}
		c.stopDrivers()
	}
	if drivers != nil {
		errs = append(errs, <-drivers)
	}
	if p.singleton == "" && len(c.commands[parallel])+len(c.commands[serial]) == 0 && p.cut == 0 {
		time.Sleep(c.duration - time.Since(c.start)) // anytime commands are all there is
	}
	if p.last != "" {
		errs = append(errs, control(world.FaultsOffLine))
	}
	close(stop)
	errs = append(errs, <-anytimes)
	if p.last != "" {
		errs = append(errs, c.command(p.last, false))
	}
	return errors.Join(errs...)
}

// drivers runs driver commands until the time is over or they are stopped, and waits for them.
func (c *composer) drivers(p plan) error {
	if p.singleton != "" {
		return c.command(p.singleton, true)
	}
	both := slices.Concat(c.commands[parallel], c.commands[serial])
	if len(both) == 0 {
		return nil
	}
	var errs []error
	ended := make(chan error)
	running := 0
	wait := func(most int) {
		for running > most {
			errs = append(errs, <-ended)
			running--
		}
	}
	for time.Since(c.start) < c.duration && !c.stopped() {
		name := c.pick(both)
		if prefixOf(name) == serial {
			wait(0)
			errs = append(errs, c.command(name, true))
		} else {
			wait(p.width - 1)
			running++
			go func() { ended <- c.command(name, true) }()
		}
		time.Sleep(driverGaps[c.dice.below(uint64(len(driverGaps)))])
	}
	wait(0)
	return errors.Join(errs...)
}

// anytimes runs one anytime command after the other until the composer stops it.
func (c *composer) anytimes(stop <-chan struct{}, d *dice) error {
	list := c.commands[anytime]
	for len(list) > 0 {
		select {
		case <-stop:
			return nil
		case <-time.After(anytimeGaps[d.below(uint64(len(anytimeGaps)))]):
		}
		if err := c.command(list[d.below(uint64(len(list)))], false); err != nil {
			return err
		}
	}
	return nil
}

func (c *composer) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// stopDrivers kills all drivers that run, with all that they have started.
func (c *composer) stopDrivers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for cmd := range c.running {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// command runs a test command to its end. Its error is one of the composer: a command that fails is reported.
func (c *composer) command(name string, driver bool) error {
	cmd := exec.Command(filepath.Join(c.dir, name))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{envDriver, "GOMAXPROCS", "GOGC"}, name)
	})
	c.mu.Lock()
	if driver && c.over {
		c.mu.Unlock()
		return nil
	}
	err := cmd.Start()
	if err == nil && driver {
		c.running[cmd] = true
	}
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("test command %s: %w; is there an interpreter for its first line?", name, err)
	}
	fmt.Fprintf(c.out, "composer: %s starts, pid %d\n", name, cmd.Process.Pid)
	err = cmd.Wait()
	c.mu.Lock()
	delete(c.running, cmd)
	killed := driver && c.over
	c.mu.Unlock()
	fmt.Fprintf(c.out, "composer: %s, pid %d, ended: %s\n", name, cmd.Process.Pid, cmd.ProcessState)
	if killed {
		return nil
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("test command %s: %w", name, err)
	}
	return c.report(name, true, err == nil, map[string]any{"command": name, "pid": cmd.Process.Pid, "ended": cmd.ProcessState.String()})
}

// report writes, as an SDK would, that a command must always end with exit code 0.
func (c *composer) report(name string, hit, passed bool, details map[string]any) error {
	if c.sdk == nil {
		return nil
	}
	message := name + " ends with exit code 0"
	line, err := json.Marshal(map[string]any{"antithesis_assert": map[string]any{
		"location": map[string]any{"file": filepath.Join(c.dir, name)}, "details": details, "assert_type": "always", "display_type": "Always",
		"message": message, "id": message, "hit": hit, "must_hit": true, "condition": passed}})
	if err != nil {
		return err
	}
	_, err = c.sdk.Write(append(line, '\n'))
	return err
}
