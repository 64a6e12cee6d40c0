// Command drivers measures the drivers of the program bloodhound-drivers: it finds a failure of a released server with each, runs a control in which
// none must be found, and prints tables for bench/DRIVERS.md.
//
//	make build && go -C bench run ./drivers >bench/DRIVERS.md
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bug is a world in which a released server breaks a promise, in a folder beside this program. bloodhound.yaml has it, fixed.yaml the control.
type bug struct {
	world, server, says, judgement, control string
	// seeds is how many seeds of run are tried where explore does not judge, because the engine cannot prove that runs repeat; 0 is explore.
	seeds int
}

var bugs = []bug{
	{"nats", "NATS 2.12.1", "an acknowledged write to a bucket is gone after a power loss", "a known weakness of the default `sync_interval`",
		"`sync_interval: always`", 0},
	{"nats-acks", "NATS 2.12.1, `sync_interval: always`", "a message comes again after its acknowledgement was confirmed, after a kill",
		"a bug: a confirmation promises that the server knows", "partitions and no kills", 0},
	{"zookeeper", "ZooKeeper 3.8.0 (Debian 12)", "the server does not start again: EOFException after a kill while it writes a snapshot, \"No snapshot " +
		"found, but there are log entries\" after a power loss", "a bug: snapshots are not written atomically", "partitions and no kills", 0},
	{"amqp", "RabbitMQ 3.10.8 (Debian 12)", "after a power loss the server has lost permissions, users or queues (\"Corrupt logfile " +
		"deleted\"), or does not boot (badmatch in rabbit_queue_index:scan_queue_segments)",
		"a bug: small files are not synchronised", "partitions and no power losses", 6},
	{"s3", "VersityGW 1.0.14", "an object that was stored is gone after a kill while it is replaced, or zeros after a power loss",
		"a bug: it unlinks the old object before it links the new one, and synchronises nothing", "partitions and no kills", 0},
	{"kafka", "kfake, a fake broker of franz-go", "an acknowledged record is gone after a power loss",
		"as documented, and as one broker of Kafka does; no real broker could be had", "a synchronised write of each batch", 0},
	{"mqtt", "Mosquitto 2.0.11 (Debian 12)", "an acknowledged message is gone after a kill", "as documented: it saves at its end and every 30 minutes",
		"partitions and no kills", 0},
}

// document is a part of what explore and run print as JSON.
type document struct {
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error"`
	Campaign struct {
		Runs     int   `json:"runs"`
		WallNs   int64 `json:"wall_ns"`
		Failures []struct {
			Property string `json:"property"`
		} `json:"failures"`
	} `json:"campaign"`
	Run struct {
		Hash       string `json:"hash"`
		Events     int64  `json:"events"`
		VirtualNs  int64  `json:"virtual_ns"`
		Operations struct {
			OK int `json:"ok"`
		} `json:"operations"`
		Verdicts []struct {
			Property string `json:"property"`
			Status   string `json:"status"`
		} `json:"verdicts"`
	} `json:"run"`
}

// repeats are the worlds whose runs are compared: those of the module drivers, and the control of s3, whose server is built here.
var repeats = []string{"nats", "nats-core", "mqtt", "zookeeper", "memcached", "kafka", "s3", "amqp"}

func main() {
	log.SetFlags(0)
	program := flag.String("bloodhound", "../bin/bloodhound", "program to run, with bloodhound-drivers beside it")
	runs := flag.Int("runs", 60, "runs of a control")
	only := flag.String("only", "", "worlds, divided by commas; all if empty")
	flag.Parse()
	path, err := filepath.Abs(*program)
	if err != nil {
		log.Fatal(err)
	}
	chosen := func(name string) bool { return *only == "" || slices.Contains(strings.Split(*only, ","), name) }
	fmt.Print("# Drivers of protocols\n\n`go -C bench run ./drivers >bench/DRIVERS.md`: failures that the drivers of bloodhound-drivers find in released " +
		"servers, whether their runs repeat, and the costs of the program. The worlds are in [drivers](drivers) and in " +
		"[the module drivers](../drivers/testdata).\n\n## Failures of released servers\n\n")
	fmt.Print("| server | failure | judgement | found in | control | outcome |\n|---|---|---|---|---|---|\n")
	for _, b := range bugs {
		if chosen(b.world) {
			b.measure(path, *runs)
		}
	}
	fmt.Print("\n## The same run each time\n\n| world | events | operations ok | runs with the same trace hash |\n|---|---|---|---|\n")
	for _, name := range repeats {
		if chosen(name) {
			repeat(path, name)
		}
	}
	fmt.Print("\n## Costs\n\n")
	costs(path)
}

func (b *bug) measure(program string, runs int) {
	if b.seeds > 0 {
		b.measureSeeds(program)
		return
	}
	config := func(name string) string { return filepath.Join("drivers", b.world, name) }
	build(program, config("bloodhound.yaml"))
	began := time.Now()
	found := call(program, nil, "explore", "--json", "--no-shrink", "--workers", "1", "--seeds", "200", "--config", config("bloodhound.yaml"))
	wall := time.Since(began)
	if len(found.Campaign.Failures) == 0 {
		log.Fatalf("%s: nothing found: exit code %d, %s", b.world, found.ExitCode, found.Error)
	}
	build(program, config("fixed.yaml"))
	fixed := call(program, nil, "explore", "--json", "--no-shrink", "--workers", "1", "--seeds", strconv.Itoa(runs), "--config", config("fixed.yaml"))
	outcome := fmt.Sprintf("holds in %d runs", fixed.Campaign.Runs)
	if fixed.ExitCode != 0 {
		outcome = fmt.Sprintf("exit code %d after %d runs", fixed.ExitCode, fixed.Campaign.Runs)
	}
	fmt.Printf("| %s | %s | %s | run %d, %.0f s | %s | %s |\n", b.server, b.says, b.judgement, max(found.Campaign.Runs, 1), wall.Seconds(), b.control, outcome)
}

// measureSeeds makes runs of some seeds, until one shows the failure, and as many of the control.
func (b *bug) measureSeeds(program string) {
	violates := func(config string, seed int) bool {
		d := call(program, nil, "run", "--json", "--seed", strconv.Itoa(seed), "--config", filepath.Join("drivers", b.world, config))
		for _, v := range d.Run.Verdicts {
			if v.Status == "violated" {
				return true
			}
		}
		return false
	}
	began := time.Now()
	seed := 1
	for ; !violates("bloodhound.yaml", seed); seed++ {
		if seed == b.seeds {
			log.Fatalf("%s: nothing found in %d runs", b.world, b.seeds)
		}
	}
	wall := time.Since(began)
	outcome := fmt.Sprintf("no violation in %d runs", b.seeds)
	for k := 1; k <= b.seeds; k++ {
		if violates("fixed.yaml", k) {
			outcome = fmt.Sprintf("violated by seed %d", k)
			break
		}
	}
	fmt.Printf("| %s | %s | %s | run %d, %.0f s | %s | %s |\n", b.server, b.says, b.judgement, seed, wall.Seconds(), b.control, outcome)
}

// repeatRuns is how often a run is repeated.
const repeatRuns = 10

func repeat(program, name string) {
	config := filepath.Join("..", "drivers", "testdata", name, "bloodhound.yaml")
	if name == "s3" {
		config = filepath.Join("drivers", "s3", "fixed.yaml")
	}
	build(program, config)
	first := call(program, nil, "run", "--json", "--seed", "1", "--config", config)
	same := 1
	for range repeatRuns - 1 {
		if again := call(program, nil, "run", "--json", "--seed", "1", "--config", config); again.Run.Hash == first.Run.Hash {
			same++
		}
	}
	fmt.Printf("| %s | %d | %d | %d of %d (%.12s) |\n", name, first.Run.Events, first.Run.Operations.OK, same, repeatRuns, first.Run.Hash)
}

// costs compares the two driver programs: their sizes, and a run of the same workload with each.
func costs(program string) {
	folder := filepath.Dir(program)
	small, big := filepath.Join(folder, "bloodhound-driver"), filepath.Join(folder, "bloodhound-drivers")
	fmt.Print("| driver program | size | CPU time of a run | events |\n|---|---|---|---|\n")
	config := filepath.Join("drivers", "cost", "bloodhound.yaml")
	build(program, config)
	for _, file := range []string{small, big} {
		info, err := os.Stat(file)
		if err != nil {
			log.Fatal(err)
		}
		var least time.Duration
		var d document
		for range 5 {
			var used time.Duration
			d, used = timed(program, []string{"BLOODHOUND_DRIVER_FILE=" + file}, "run", "--json", "--seed", "1", "--config", config)
			if least == 0 || used < least {
				least = used
			}
		}
		fmt.Printf("| %s | %.1f MB | %.2f s | %d |\n", filepath.Base(file), float64(info.Size())/1e6, least.Seconds(), d.Run.Events)
	}
	fmt.Println("\nThe run is `drivers/cost`: Redis and the driver `redis`, which both programs have. The CPU time is the least of five, with the " +
		"start of bloodhound.")
}

func build(program, config string) {
	cmd := exec.Command(program, "build", "--config", config)
	cmd.Env = append(os.Environ(), "BLOODHOUND_AS_ROOT=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		log.Fatalf("build %s: %v\n%s", config, err, out)
	}
}

func call(program string, env []string, args ...string) document {
	d, _ := timed(program, env, args...)
	return d
}

// timed runs a command of bloodhound and returns its document, and the CPU time that it and its workers took.
func timed(program string, env []string, args ...string) (d document, used time.Duration) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(append(os.Environ(), "BLOODHOUND_AS_ROOT=1"), env...)
	out, err := cmd.Output()
	if decoding := json.Unmarshal(out, &d); decoding != nil {
		log.Fatalf("%v: %v, %v\n%s", args, err, decoding, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return d, time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
