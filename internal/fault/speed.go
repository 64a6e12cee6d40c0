package fault

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Speed is how long calls on a disk take, in ns. A synchronisation takes between two times; reads that find nothing in the page cache and
// writes that wait for it to be written back take up to a time, and all others none.
type Speed struct {
	Name                    string
	SyncLeastNs, SyncMostNs int64
	ReadMostNs, WriteMostNs int64
}

// Speeds are those of disks as they are sold, the fastest first: the least and the most is what their users report of idle and of busy ones.
var Speeds = []Speed{
	{"nvme", 20e3, 3e6, 300e3, 500e3},
	{"ssd", 500e3, 30e6, 2e6, 10e6},
	{"cloud", 1e6, 100e6, 20e6, 50e6},
	{"hdd", 4e6, 200e6, 50e6, 100e6},
}

// How often a read or a write waits for a disk that has a speed, in parts per million.
const (
	ReadWaitPPM  = 50_000
	WriteWaitPPM = 20_000
)

// SpeedSteps is how many times a call on a disk chooses from.
const SpeedSteps = 16

// Between is step k of SpeedSteps from one time to another, in ns: most steps are near the first, as most calls are fast.
func Between(leastNs, mostNs int64, k uint64) int64 {
	const last = SpeedSteps - 1
	return leastNs + (mostNs-leastNs)*int64(k*k*k)/(last*last*last)
}

// SpeedNames are the words that configurations use for speeds of disks.
var SpeedNames = []string{Speeds[0].Name, Speeds[1].Name, Speeds[2].Name, Speeds[3].Name, world.DrawnSpeed}

// speedStream is the stream whose draw is the speed of all disks. That of a server's own disk follows it by a slash and the server's name.
const speedStream = "speed/disk"

// otherDiskPPM is the chance, in parts per million, that the disk of one server is not like those of the others.
const otherDiskPPM = 200_000

// Disks gives the speeds of the disks of the servers, in the order of Plan.Servers, as the chaos phase begins: the one that a Spec names, or
// those that the tape chooses. The zero Speed is none of them, as in the runs without faults that Calm makes.
func (p *Plan) Disks(src Chooser, named string) []Speed {
	disks := make([]Speed, len(p.Servers))
	if i := slices.IndexFunc(Speeds, func(s Speed) bool { return s.Name == named }); i >= 0 {
		return slices.Repeat(Speeds[i:i+1], len(disks))
	}
	if p.Calm {
		return disks
	}
	usual := src.Rare(speedStream, uint64(len(Speeds))+1, 0)
	for i, node := range p.Servers {
		v := usual
		if other := src.Rare(speedStream+"/"+node, uint64(len(Speeds))+1, otherDiskPPM); other > 0 {
			v = other
		}
		if v > 0 {
			disks[i] = Speeds[v-1]
		}
	}
	return disks
}

// DrawnDisks are the speeds that Disks has drawn in a run, by its decisions.
func DrawnDisks(servers []string, decisions []tape.Decision) []Speed {
	of := map[string]uint64{}
	for _, d := range decisions {
		if d.Stream == speedStream || strings.HasPrefix(d.Stream, speedStream+"/") {
			of[d.Stream] = d.Value
		}
	}
	disks := make([]Speed, len(servers))
	for i, node := range servers {
		if v := cmp.Or(of[speedStream+"/"+node], of[speedStream]); v > 0 && v <= uint64(len(Speeds)) {
			disks[i] = Speeds[v-1]
		}
	}
	return disks
}

// AnySpeed is a Spec whose disks are as fast as an engine has them, and reports whether it had named a speed.
func AnySpeed(spec *world.Spec) (_ *world.Spec, named bool) {
	if spec.Faults.DiskSpeed == "" {
		return spec, false
	}
	own := *spec
	own.Faults.DiskSpeed = ""
	return &own, true
}
