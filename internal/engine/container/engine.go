// Package container is the engine that runs a world as containers of Docker or Podman, in real time: honest chaos testing of a stack as it
// is in production. A run cannot be made again.
//
// Each node has a keeper: a container of Bloodhound's own program that owns the node's network and disturbs it (package hand). The container
// of the node joins that network, so that its addresses outlive it. Virtual time is the real time since the world was ready to start.
package container

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Engine is the container engine.
type Engine struct{}

// New makes the container engine.
func New() *Engine { return &Engine{} }

// Labels of all that a run makes in the daemon.
const (
	runLabel  = "org.bloodhound.run"
	roleLabel = "org.bloodhound.role"
	nodeLabel = "org.bloodhound.node"
)

// Roles of containers.
const (
	keeperRole = "keeper" // lives as long as the engine that runs the world
	nodeRole   = "node"
)

// namePrefix begins the names of all that a run makes.
const namePrefix = "bloodhound-"

// Boot makes the containers of a world; no program of its nodes has run yet.
func (*Engine) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &World{ctx: ctx, cancel: cancel, options: o, tape: tape.NewSource(t), started: time.Now(), run: newRun(),
		happened: make(chan func() error, 10_000), closing: make(chan struct{}),
		procs: map[int64]*proc{}, rates: map[string]rated{}}
	w.spec, w.outcome.Warnings = capabilities.Supported(spec)
	if o.Interrupt != nil {
		go func() {
			select {
			case <-o.Interrupt:
				w.interrupted.Store(true)
			case <-ctx.Done():
			}
		}()
	}
	if err := w.boot(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func newRun() string {
	var b [5]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (w *World) boot() (err error) {
	if w.client, err = docker.Find(w.ctx); err != nil {
		return err
	}
	if _, err := sweep(w.ctx, w.client, true); err != nil {
		return fmt.Errorf("cannot remove the leftovers of killed runs: %w", err)
	}
	dir, err := filepath.Abs(w.options.Dir)
	if w.options.Dir == "" {
		dir = os.TempDir()
	}
	if err != nil {
		return err
	}
	if w.dir, err = os.MkdirTemp(dir, "container-"); err != nil {
		return err
	}
	if err := os.Chmod(w.dir, 0o755); err != nil { // users of containers are others
		return err
	}
	if err := w.openReport(); err != nil {
		return err
	}
	if err := w.networks(); err != nil {
		return err
	}
	for i := range w.spec.Nodes {
		w.nodes = append(w.nodes, &node{World: w, id: i, spec: &w.spec.Nodes[i], faults: map[string]int{}})
	}
	if err := w.images(); err != nil {
		return err
	}
	borrows := func(n *node) bool { return n.lender() != n }
	for _, second := range []bool{false, true} { // who has the network of another needs that one's keeper
		err := w.each(func(n *node) error {
			if borrows(n) != second {
				return nil
			}
			return n.furnish()
		})
		if err != nil {
			return err
		}
	}
	if err := w.learnAddresses(); err != nil {
		return err
	}
	if err := w.able(); err != nil {
		return err
	}
	if err := w.each((*node).create); err != nil {
		return err
	}
	setting, err := director.Prepare(w.spec)
	if err != nil {
		return err
	}
	w.began = time.Now()
	w.tape.Watch(w.options.Draws)
	w.tape.Clock(w.now)
	w.director = setting.New(w.tape, w.actuator(), &w.outcome)
	return nil
}

// each does something for all nodes at once.
func (w *World) each(do func(*node) error) error {
	errs := make([]error, len(w.nodes))
	var all sync.WaitGroup
	for i, n := range w.nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("node %s: %w", w.nodes[i].spec.Name, err)
		}
	}
	return nil
}

// Close removes all that the run has made in the daemon.
func (w *World) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	close(w.closing)
	w.cancel()
	if w.dir != "" {
		defer os.RemoveAll(w.dir)
	}
	if w.report != nil {
		defer w.report.Close()
	}
	for _, n := range w.nodes {
		for _, f := range n.pipes {
			f.Close()
		}
		if n.hand != nil {
			n.hand.stream.Close()
		}
		if n.holding != nil {
			n.holding.Close()
		}
	}
	if w.client == nil {
		return nil
	}
	defer w.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := remove(ctx, w.client, w.run)
	_, swept := sweep(ctx, w.client, true) // keepers of a run that was killed just before this one began may have ended since
	return errors.Join(err, swept)
}

// closeTime bounds the removal of a run.
const closeTime = time.Minute
