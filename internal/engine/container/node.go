package container

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/container/docker"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Files that every node has.
const (
	ownFolder  = "/dev/bloodhound"
	selfPath   = ownFolder + "/bloodhound"
	stopPath   = ownFolder + "/stop-faults"
	reportPath = ownFolder + "/report"
	sdkPath    = ownFolder + "/sdk.jsonl"
)

// Places in a keeper: what nodes have written over files of the machine, and their volumes.
const (
	upperFolder  = "/upper"
	volumeFolder = "/volumes/"
)

// node is a node of the Spec.
type node struct {
	*World
	id      int
	spec    *world.Node
	keeper  string // the container; that of another node if it has the network of one
	main    string // the container, empty for a node without programs of users
	holds   bool   // main runs a hand that holds the container for programs that others start, as long as holding is open
	holding *docker.Stream
	base    string // the image that main is made from
	pipes   []*os.File
	own     []docker.Mount
	mounts  []docker.Mount // of main, besides its own
	held    []docker.Mount // volumes that the keeper holds, so that they outlive main
	fillers []string       // folders of the keeper that a full disk fills
	layers  []overlay
	hand    *keeper
	ips     []string

	// What the loop knows.
	proc     *proc // that runs main, nil if none does
	paused   bool
	arrived  int64 // packets, before a pause
	downBy   int   // the fault that has ended main
	filledBy int   // the fault that has filled its disk
	stopping stopping
	faults   map[string]int // that its keeper has orders of, by key
	clock    string         // the file with how far its date is ahead, empty if it is always right
}

// keeper is the connection to the hand of a node.
type keeper struct {
	mu      sync.Mutex
	stream  *docker.Stream
	answers *json.Decoder
	last    int
}

// order has the hand follow an order.
func (k *keeper) order(o *hand.Order) (*hand.Answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	o.ID = k.last
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	if _, err := k.stream.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("the process that holds its network accepts no orders: %w", err)
	}
	var a hand.Answer
	if err := k.answers.Decode(&a); err != nil {
		return nil, fmt.Errorf("the process that holds its network does not answer: %w", err)
	}
	if a.ID != o.ID {
		return nil, fmt.Errorf("the process that holds its network answered order %d instead of %d", a.ID, o.ID)
	}
	if a.Error != "" {
		return &a, errors.New(a.Error)
	}
	return &a, nil
}

// lender is the node whose network a node has.
func (n *node) lender() *node {
	of := n
	for range n.nodes {
		if of.spec.NetworkOf == "" {
			break
		}
		of = n.named(of.spec.NetworkOf)
	}
	return of
}

func (n *node) name(part string) string { return namePrefix + n.run + "-" + n.spec.Name + part }

func (n *node) labels(role string) map[string]string {
	return map[string]string{runLabel: n.run, nodeLabel: n.spec.Name, roleLabel: role}
}

// furnish makes the files that a node has of Bloodhound, its volumes, and its keeper.
func (n *node) furnish() error {
	dir := filepath.Join(n.dir, strconv.Itoa(n.id))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	for _, name := range []string{selfPath, stopPath, reportPath} { // to be mounted over
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), nil, 0o644); err != nil {
			return err
		}
	}
	for _, pipe := range []string{sdkPath, world.ControlPath} {
		name := filepath.Join(dir, filepath.Base(pipe))
		if err := unix.Mkfifo(name, 0o666); err != nil {
			return err
		}
		if err := os.Chmod(name, 0o666); err != nil {
			return err
		}
		if err := n.listen(pipe, name); err != nil {
			return err
		}
	}
	n.own = []docker.Mount{
		{Type: "bind", Source: dir, Target: ownFolder},
		{Type: "bind", Source: n.options.Driver, Target: selfPath, ReadOnly: true},
		{Type: "bind", Source: n.options.Driver, Target: stopPath, ReadOnly: true},
		{Type: "bind", Source: n.report.Name(), Target: reportPath},
	}
	if err := n.prepareClock(dir); err != nil {
		return err
	}
	if err := n.volumes(); err != nil {
		return err
	}
	return n.keep()
}

// keep starts the keeper of a node.
func (n *node) keep() error {
	c := &docker.Container{
		Image: n.keeperImage, Entrypoint: []string{selfPath, "driver", hand.Verb, hand.Keep}, OpenStdin: true, StdinOnce: true,
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Labels: n.labels(keeperRole),
		HostConfig: docker.HostConfig{CapAdd: []string{"NET_ADMIN"}, LogConfig: docker.LogConfig{Type: "none"},
			Mounts: slices.Concat(n.own, n.libraries, n.held)},
	}
	var places []place
	if lender := n.lender(); lender != n {
		c.HostConfig.NetworkMode = "container:" + lender.keeper
	} else {
		places = n.places()
		n.connect(c, places)
	}
	var err error
	if n.keeper, err = n.createContainer(n.name("-keeper"), c); err != nil {
		return err
	}
	for _, p := range places[min(1, len(places)):] {
		if err := n.client.Call(n.ctx, http.MethodPost, "/networks/"+p.network+"/connect", nil,
			map[string]any{"Container": n.keeper, "EndpointConfig": p.endpoint}, nil); err != nil {
			return err
		}
	}
	stream, err := n.client.Hijack(n.ctx, "/containers/"+n.keeper+"/attach", url.Values{"stream": {"1"}, "stdin": {"1"}, "stdout": {"1"}, "stderr": {"1"}}, nil)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	said := ""
	go func() {
		stream.Lines(func(which int, text []byte) {
			if which == 1 {
				w.Write(append(text, '\n'))
			} else {
				said = string(text)
			}
		})
		if said == "" {
			said = "it has ended"
		}
		w.CloseWithError(errors.New(said))
	}()
	n.hand = &keeper{stream: stream, answers: json.NewDecoder(r)}
	if err := n.client.Call(n.ctx, http.MethodPost, "/containers/"+n.keeper+"/start", nil, nil, nil); err != nil {
		return unseen(err, n.options.Driver)
	}
	if _, err := n.hand.order(&hand.Order{Make: n.upperFolders()}); err != nil {
		return fmt.Errorf("%w; if bloodhound is not built statically, build it with CGO_ENABLED=0", err)
	}
	return n.layOver()
}

// connect gives a keeper what belongs to a network, and the first of its places.
func (n *node) connect(c *docker.Container, places []place) {
	c.Hostname, c.Domainname = n.spec.Hostname, n.spec.DomainName
	h := &c.HostConfig
	h.DNSSearch, h.Sysctls, h.NetworkMode = n.spec.SearchDomains, map[string]string{}, "none"
	for _, x := range n.spec.ExtraHosts {
		h.ExtraHosts = append(h.ExtraHosts, x.Name+":"+x.IP)
	}
	for _, s := range n.spec.Sysctls {
		if strings.HasPrefix(s.Name, "net.") {
			h.Sysctls[s.Name] = s.Value
		}
	}
	if len(places) > 0 {
		h.NetworkMode = places[0].network
		c.NetworkingConfig = &docker.NetworkingConfig{EndpointsConfig: map[string]docker.Endpoint{places[0].network: places[0].endpoint}}
	}
}

// unseen explains that a daemon does not have files of this machine.
func unseen(err error, file string) error {
	if text := err.Error(); strings.Contains(text, "bind source path does not exist") || strings.Contains(text, "no such file or directory") {
		return fmt.Errorf("the daemon cannot see %s (%w); the container engine needs a daemon that sees this "+
			"machine's files, so run bloodhound outside of containers, on the daemon's machine", file, err)
	}
	return err
}

// place is a network on which a node is.
type place struct {
	network  string
	endpoint docker.Endpoint
}

// places are the networks of a node, the one of its default route first.
func (n *node) places() (list []place) {
	names := slices.Concat([]string{n.spec.Name, n.spec.Hostname}, n.spec.Aliases)
	if len(n.World.spec.Networks) == 0 {
		return []place{{n.network(""), docker.Endpoint{Aliases: names}}}
	}
	attachments := slices.Clone(n.spec.Attachments)
	slices.SortStableFunc(attachments, func(a, b world.Attachment) int { return cmp.Compare(b.GatewayPriority, a.GatewayPriority) })
	for _, a := range attachments {
		aliases := slices.Clone(a.Aliases)
		if !a.Unnamed {
			aliases = append(aliases, names...)
		}
		list = append(list, place{n.network(a.Network), docker.Endpoint{Aliases: aliases, MacAddress: a.MAC}})
	}
	return list
}

func (w *World) createContainer(name string, c *docker.Container) (id string, err error) {
	var made struct {
		ID string `json:"Id"`
	}
	err = w.client.Call(w.ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, c, &made)
	return made.ID, err
}

// create makes the container of a node, which does not run yet.
func (n *node) create() error {
	n.holds = len(n.spec.Command) == 0 && n.hasGuests()
	if len(n.spec.Command) == 0 && !n.holds {
		return nil
	}
	b := &n.spec.Bounds
	user, groups, err := n.credentials(n.spec)
	if err != nil {
		return err
	}
	c := &docker.Container{
		Image: n.base, Entrypoint: n.spec.Command, Env: n.environment(n.spec.Env), WorkingDir: cmp.Or(n.spec.WorkingDir, "/"),
		User: user, StopSignal: n.spec.StopSignal,
		Labels: n.labels(nodeRole), Healthcheck: &docker.Healthcheck{Test: []string{"NONE"}}, AttachStdout: true, AttachStderr: true,
		HostConfig: docker.HostConfig{NetworkMode: "container:" + n.lender().keeper, Mounts: slices.Concat(n.own, n.mounts),
			ReadonlyRootfs: n.spec.ReadOnly, GroupAdd: groups,
			OomScoreAdj: b.OOMScoreAdj, Memory: b.MemoryBytes, NanoCPUs: b.CPUPPM * 1000, PidsLimit: int64(b.Tasks),
			ShmSize: b.ShmBytes, LogConfig: docker.LogConfig{Type: "none"}, Sysctls: map[string]string{}},
	}
	if n.holds {
		c.Entrypoint, c.User = []string{selfPath, "driver", hand.Verb, hand.Hold}, "0"
		c.OpenStdin, c.StdinOnce, c.AttachStdin = true, true, true
	}
	if n.spec.Init == world.SmallInit {
		on := true
		c.HostConfig.Init = &on
	}
	for _, r := range b.Rlimits {
		c.HostConfig.Ulimits = append(c.HostConfig.Ulimits, docker.Ulimit{Name: r.Name, Soft: limit(r.Soft), Hard: limit(r.Hard)})
	}
	for _, s := range n.spec.Sysctls {
		if !strings.HasPrefix(s.Name, "net.") {
			c.HostConfig.Sysctls[s.Name] = s.Value
		}
	}
	if n.main, err = n.createContainer(n.name(""), c); err != nil {
		return err
	}
	if !n.holds {
		return nil
	}
	if n.holding, err = n.client.Hijack(n.ctx, "/containers/"+n.main+"/attach", url.Values{"stream": {"1"}, "stdin": {"1"}}, nil); err != nil {
		return err
	}
	return n.client.Call(n.ctx, http.MethodPost, "/containers/"+n.main+"/start", nil, nil, nil)
}

// limit is a number of an Ulimit.
func limit(of uint64) int64 {
	if of == world.Unlimited {
		return -1
	}
	return int64(of)
}

// hasGuests reports whether programs of users run on a node that has none of its own: drivers and checks.
func (n *node) hasGuests() bool {
	spec := n.World.spec
	for _, l := range spec.Workloads {
		if l.Node == n.spec.Name && (l.Driver == "command" || l.Driver == "composer") {
			return true
		}
	}
	return director.Checker(spec) == n.id && (slices.ContainsFunc(spec.Properties, func(p world.Property) bool { return len(p.Check.Script) > 0 }) ||
		slices.ContainsFunc(spec.Faults.Roles, func(r world.NodeRole) bool { return r.Check != nil && len(r.Check.Script) > 0 }))
}

// environment returns env with the variables that every program of a node gets, unless env sets them itself.
func (n *node) environment(env []string) []string {
	out := slices.Concat(env, n.clockEnvironment())
	for _, kv := range []string{"ANTITHESIS_SDK_LOCAL_OUTPUT=" + sdkPath, "ANTITHESIS_OUTPUT_DIR=" + ownFolder,
		"ANTITHESIS_STOP_FAULTS=" + stopPath, "TZ=UTC"} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}

// networks makes the networks of a world.
func (w *World) networks() error {
	list := w.spec.Networks
	if len(list) == 0 {
		list = []world.Network{{}}
	}
	for _, l := range list {
		n := &docker.Network{Name: w.network(l.Name), Driver: "bridge", Internal: l.Internal, EnableIPv6: l.IPv6 != "",
			Labels: map[string]string{runLabel: w.run}}
		if l.IPv6 != "" {
			n.IPAM.Config = []docker.Subnet{{Subnet: l.IPv6}}
		}
		if err := w.client.Call(w.ctx, http.MethodPost, "/networks/create", nil, n, nil); err != nil {
			return fmt.Errorf("network %s: %w", l.Name, err)
		}
	}
	return nil
}

func (w *World) network(name string) string { return namePrefix + w.run + "-" + cmp.Or(name, "all") }

// learnAddresses asks which addresses the daemon has given to keepers.
func (w *World) learnAddresses() error {
	for _, n := range w.nodes {
		var c docker.Inspected
		if err := w.client.Call(w.ctx, http.MethodGet, "/containers/"+n.keeper+"/json", nil, nil, &c); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(c.NetworkSettings.Networks)) {
			e := c.NetworkSettings.Networks[name]
			for _, ip := range []string{e.IPAddress, e.GlobalIPv6Address} {
				if ip != "" {
					n.ips = append(n.ips, ip)
				}
			}
		}
	}
	return nil
}

// able asks keepers whether their kernel can do what the faults of the Spec need. Without that, rules that the user has not written are left out.
func (w *World) able() error {
	needs := map[string]bool{}
	for i := range w.spec.Faults.Rules {
		if r := &w.spec.Faults.Rules[i]; w.spec.Faults.Enabled && r.RatePPM > 0 {
			for _, need := range capabilities.Faults[r.Kind].Features {
				needs[need] = true
			}
		}
	}
	if len(needs) == 0 {
		return nil
	}
	lacks := map[string]string{}
	for _, n := range w.nodes {
		a, err := n.hand.order(&hand.Order{Able: slices.Sorted(maps.Keys(needs))})
		if err != nil {
			return fmt.Errorf("node %s: %w", n.spec.Name, err)
		}
		maps.Copy(lacks, a.Lacks)
	}
	var left []world.FaultKind
	for i := range w.spec.Faults.Rules {
		r := &w.spec.Faults.Rules[i]
		if r.RatePPM == 0 {
			continue
		}
		for _, need := range capabilities.Faults[r.Kind].Features {
			why, ok := lacks[need]
			switch {
			case ok && r.ByUser:
				return lacking(r.Kind, need, why)
			case ok:
				r.RatePPM = 0
				left = append(left, r.Kind)
			}
		}
	}
	if len(left) > 0 {
		w.outcome.Warnings = append(w.outcome.Warnings, capabilities.LeftOut(slices.Compact(left)))
	}
	return nil
}

// listen takes in what programs of a node write to a pipe.
func (n *node) listen(path, file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	n.pipes = append(n.pipes, f)
	if path == world.ControlPath {
		go func() {
			b := make([]byte, unix.PathMax)
			for {
				k, err := f.Read(b)
				if err != nil {
					return
				}
				n.notice(n.asked, string(b[:k]))
			}
		}()
		return nil
	}
	go func() {
		in := bufio.NewReaderSize(f, maxLine)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			n.notice(n.told, line)
		}
	}()
	return nil
}

// maxLine is how much of a line of an SDK is read at once.
const maxLine = 64 << 10
