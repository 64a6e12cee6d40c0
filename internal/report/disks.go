package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// diskSpeeds says how fast the disks of servers were that a run drew, such as "the disks of n1, n2 are of the speed hdd: a sync
// takes 4ms to 200ms". They are so from the beginning of the faults to the end of the run, so that a server that is too slow is
// so without any other fault. It is empty if they take no time.
func diskSpeeds(s *StoryOf) string {
	if s.Spec.Faults.DiskSpeed != world.DrawnSpeed {
		return ""
	}
	plan, err := fault.New(s.Spec)
	if err != nil {
		return ""
	}
	speeds := fault.DrawnDisks(plan.Servers, s.Outcome.Decisions)
	var parts []string
	for i, speed := range speeds {
		if speed.Name == "" || slices.Index(speeds, speed) < i {
			continue
		}
		var of []string
		for k, node := range plan.Servers {
			if speeds[k] == speed {
				of = append(of, node)
			}
		}
		parts = append(parts, fmt.Sprintf("the disk of %s has the speed %s: a sync takes %s to %s", strings.Join(of, ", "), speed.Name,
			time.Duration(speed.SyncLeastNs), time.Duration(speed.SyncMostNs)))
	}
	return strings.Join(parts, "; ")
}

// disksStory prints how fast the disks are.
func disksStory(b *strings.Builder, s *StoryOf) {
	if text := diskSpeeds(s); text != "" {
		fmt.Fprintf(b, "  %-9s %s, until the end of the run (faults.disk.speed)\n", "disks", text)
	}
}
