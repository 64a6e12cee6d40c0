package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
)

// campaignName makes the test program run a campaign that waits for ever.
const campaignName = "__campaign"

func init() {
	if len(os.Args) > 1 && os.Args[1] == campaignName {
		command, err := Self("__worker")
		if err != nil {
			panic(err)
		}
		c := Campaign{Setup: &Setup{Spec: fakeSpec(enginetest.Slow)}, Workers: 2, Command: command}
		c.Run(context.Background())
		os.Exit(0)
	}
}

func children(pid int) []int {
	var list []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// gone waits until a process has ended; one that nobody has waited for yet counts as ended.
func gone(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
	return n == 1 && err == nil
}

func TestAKilledCampaignLeavesNoWorker(t *testing.T) {
	command, err := Self(campaignName)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var workers []int
	for range 1000 {
		if workers = children(cmd.Process.Pid); len(workers) == 2 {
			break
		}
		time.Sleep(10 * time.Millisecond) // a process has no event for a child
	}
	if len(workers) != 2 {
		t.Fatalf("the campaign has %d workers, want 2", len(workers))
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, pid := range workers {
		if !gone(pid) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("worker %d lives on", pid)
		}
	}
}

func TestWorkersArePinnedAndInGroupsOfTheirOwn(t *testing.T) {
	allowed := cpus.Allowed()
	cpu := allowed[len(allowed)-1]
	w, err := StartWorker(func() *exec.Cmd { return exec.Command("cat") }, &Setup{}, cpu)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	pid := w.cmd.Process.Pid
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil || set.Count() != 1 || !set.IsSet(cpu) {
		t.Errorf("worker runs on %d CPUs, %v; want CPU %d alone", set.Count(), err, cpu)
	}
	if group, err := unix.Getpgid(pid); err != nil || group != pid {
		t.Errorf("worker is in process group %d, %v; want its own, %d", group, err, pid)
	}
	if now := cpus.Allowed(); len(now) != len(allowed) {
		t.Errorf("starting a worker pinned us too: %v, before %v", now, allowed)
	}
}
