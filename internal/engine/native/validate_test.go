//go:build linux && amd64

package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Inspect reports what a Spec names and the machine lacks by its part, with a remedy, and a world of that Spec would not start.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf := func(machine byte) string {
		return "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 11) + string([]byte{machine, 0})
	}
	write("plain.sh", "echo hello\n", 0o777)
	write("closed.sh", "#!/bin/sh\n", 0o666)
	write("lost.sh", "#! /opt/none/bin/python9 -u\n", 0o777)
	write("windows.sh", "#!/bin/sh\r\nexit 0\r\n", 0o777)
	write("arm", elf(183), 0o777)
	write("root/bin/app", "#!/bin/sh\n", 0o777)
	write(".bloodhound/app", "#!/bin/sh\n", 0o777)
	beside, err := os.MkdirTemp("/tmp", "bloodhound-inspect-") // nodes do not see it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(beside)
	helper := filepath.Join(beside, "helper")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	write("helped.sh", "#!"+helper+"\n", 0o777)
	own := write("own/dinghy", "#!/bin/sh\n", 0o777)
	elsewhere := filepath.Join(t.TempDir(), "stray")
	if err := os.WriteFile(elsewhere, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(own)+":"+os.Getenv("PATH"))

	for _, c := range []struct {
		name    string
		change  func(s *world.Spec, n *world.Node)
		part    engine.Part
		problem string
		remedy  string
	}{
		{"nothing", func(s *world.Spec, n *world.Node) {}, "", "", ""},
		{"no such name", func(s *world.Spec, n *world.Node) { n.Command = []string{"no-such"} }, engine.PartCommand,
			`there is no program "no-such" in the node's PATH (/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)`, "give its path"},
		{"PATH of the node", func(s *world.Spec, n *world.Node) { n.Command, n.Env = []string{"sh"}, []string{"PATH=/none:/nil"} }, engine.PartCommand,
			`"sh" in the node's PATH (/none:/nil); your own PATH has it at /`, "a node does not get your PATH"},
		{"the user's PATH", func(s *world.Spec, n *world.Node) { n.Command = []string{"dinghy"} }, engine.PartCommand,
			"your own PATH has it at " + own, "write " + own},
		{"no such file", func(s *world.Spec, n *world.Node) { n.Command = []string{"bin/app"} }, engine.PartCommand,
			"there is no program " + dir + "/bin/app", "build it first"},
		{"below /tmp", func(s *world.Spec, n *world.Node) { n.Command = []string{elsewhere} }, engine.PartCommand,
			"there is no program " + elsewhere, "mount it with `volumes: [" + elsewhere},
		{"state folder", func(s *world.Spec, n *world.Node) { n.Command = []string{".bloodhound/app"} }, engine.PartCommand,
			"there is no program", "nodes see only bin"},
		{"a folder", func(s *world.Spec, n *world.Node) { n.Command = []string{"./root"} }, engine.PartCommand, "./root is not a file", "name the program"},
		{"not executable", func(s *world.Spec, n *world.Node) { n.Command = []string{"./closed.sh"} }, engine.PartCommand, "is not executable", "chmod +x"},
		{"no #! line", func(s *world.Spec, n *world.Node) { n.Command = []string{"./plain.sh"} }, engine.PartCommand,
			"neither a program nor a script", "#!/bin/sh"},
		{"no interpreter", func(s *world.Spec, n *world.Node) { n.Command = []string{"./lost.sh"} }, engine.PartCommand,
			`asks for "/opt/none/bin/python9"`, "interpreter"},
		{"Windows lines", func(s *world.Spec, n *world.Node) { n.Command = []string{"./windows.sh"} }, engine.PartCommand, "carriage return", "Unix line ends"},
		{"another machine", func(s *world.Spec, n *world.Node) { n.Command = []string{"./arm"} }, engine.PartCommand, "a machine other than", "linux/amd64"},
		{"working_dir", func(s *world.Spec, n *world.Node) { n.WorkingDir = "/no/such" }, engine.PartWorkingDir,
			"the folder /no/such does not exist", "working_dir"},
		{"working_dir is a file", func(s *world.Spec, n *world.Node) { n.WorkingDir = "/bin/sh" }, engine.PartWorkingDir,
			"/bin/sh is not a folder", "choose a folder"},
		{"user", func(s *world.Spec, n *world.Node) { n.User = "nobody-here" }, engine.PartUser, `user "nobody-here": no such user`, "1000:1000"},
		{"group", func(s *world.Spec, n *world.Node) { n.User = "root:none-here" }, engine.PartUser, "no such group", "1000:1000"},
		{"volume", func(s *world.Spec, n *world.Node) {
			n.Volumes = []world.Volume{{Kind: world.Named, Source: "v", Target: "/v"}, {Kind: world.Bind, Source: "/no/data", Target: "/data"}}
		}, engine.PartVolume, "/no/data is not there", "create it"},
		{"volume in /proc", func(s *world.Spec, n *world.Node) {
			n.Volumes = []world.Volume{{Kind: world.Named, Source: "v", Target: "/proc/v"}}
		}, engine.PartVolume, "/proc/v", "outside /proc"},
		{"root", func(s *world.Spec, n *world.Node) { n.Root = dir + "/none" }, engine.PartRoot, dir + "/none is not there", "root: host"},
		{"root is a file", func(s *world.Spec, n *world.Node) { n.Root = dir + "/arm" }, engine.PartRoot, "is not a folder", "folder"},
		{"in a root", func(s *world.Spec, n *world.Node) {
			n.Root, n.WorkingDir, n.Command = dir+"/root", "/", []string{"bin/none"}
		}, engine.PartCommand,
			"there is no program /bin/none in " + dir + "/root", "build it"},
		{"healthcheck", func(s *world.Spec, n *world.Node) { n.Health = &world.Healthcheck{Command: []string{"no-such"}} },
			engine.PartHealthcheck, "no-such", "path"},
		{"a healthcheck that the program may make",
			func(s *world.Spec, n *world.Node) { n.Health = &world.Healthcheck{Command: []string{"/data/check"}} }, "", "", ""},
		{"workload", func(s *world.Spec, n *world.Node) {
			s.Workloads = []world.Workload{{Name: "w", Driver: "command", Node: "load", Command: []string{"./none"}}}
		}, engine.PartWorkload, "there is no program " + dir + "/none", "build it"},
		{"workload beside the project", func(s *world.Spec, n *world.Node) {
			s.Workloads = []world.Workload{{Name: "w", Driver: "command", Node: "load", Command: []string{helper}}}
		}, engine.PartWorkload, "there is no program " + helper, "starts empty on every node: put it into the project's folder"},
		{"command beside the project", func(s *world.Spec, n *world.Node) { n.Command = []string{helper} }, engine.PartCommand,
			"there is no program " + helper, "starts empty on every node: mount it with `volumes: [" + helper},
		{"interpreter beside the project", func(s *world.Spec, n *world.Node) { n.Command = []string{"./helped.sh"} }, engine.PartCommand,
			"asks for \"" + helper, "starts empty on every node: mount it"},
		{"property", func(s *world.Spec, n *world.Node) {
			s.Properties = []world.Property{{Name: "p", Check: world.Check{Type: world.Custom,
				Question: world.Question{Script: []string{"./closed.sh"}}}}}
		}, engine.PartProperty, "./closed.sh is not executable", "chmod +x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := func(name, ip string) world.Node {
				return world.Node{Name: name, Role: world.Server, Hostname: name, IPv4: ip, Root: "host", WorkingDir: dir}
			}
			s := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 1e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
				Nodes: []world.Node{node("n1", "10.77.0.10"), node("n2", "10.77.0.11"), node("load", "10.77.0.12")}}
			s.Nodes[0].Command, s.Nodes[1].Command, s.Nodes[2].Role = []string{"true"}, []string{"/bin/sh", "-c", "exit 0"}, world.Client
			c.change(s, &s.Nodes[1])
			err := native.New().Validate(s, engine.Options{})
			if c.part == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var found engine.Mistakes
			if !errors.As(err, &found) || len(found) != 1 {
				t.Fatalf("got %v, want one mistake", err)
			}
			m := found[0]
			if m.Part != c.part || !strings.Contains(m.Problem, c.problem) || !strings.Contains(m.Remedy, c.remedy) {
				t.Errorf("got %+v, want %s, %q, %q", m, c.part, c.problem, c.remedy)
			}
			if _, err := engine.Run(native.New(), s, tape.Tape{Seed: 1}, engine.Options{}); err == nil {
				t.Error("but a world of that Spec starts")
			}
		})
	}
}
