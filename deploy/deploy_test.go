// Package deploy has what runs a fleet on machines: a systemd unit, images, a Compose file, objects of Kubernetes. Its test lets the tool of each read
// them, and holds them to each other.
package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// filtering are settings of systemd that make it filter system calls, which the engine must see (systemd.exec(5)).
var filtering = []string{"SystemCallFilter=", "SystemCallArchitectures=", "PrivateDevices=", "ProtectKernelTunables=",
	"ProtectKernelModules=", "ProtectKernelLogs=", "ProtectClock=",
	"ProtectHostname=", "RestrictSUIDSGID=", "RestrictNamespaces=", "RestrictRealtime=", "RestrictAddressFamilies=",
	"LockPersonality=", "MemoryDenyWriteExecute=", "DynamicUser="}

// A unit hides homes and keeps the rest from being written to, so it names a folder for the state and caches.
func TestUnitWrites(t *testing.T) {
	text, err := os.ReadFile("systemd/bloodhound-worker@.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nProtectSystem=strict\n", "\nStateDirectory=bloodhound\n", "HOME=%S/bloodhound",
		"BLOODHOUND_STATE=%S/bloodhound/", "\nReadWritePaths=/srv/bloodhound/%i\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q", want)
		}
	}
	for _, setting := range filtering {
		if strings.Contains(string(text), "\n"+setting) {
			t.Errorf("%s filters system calls", setting)
		}
	}
}

func TestUnit(t *testing.T) {
	if !needs.Has("systemd-analyze") {
		t.Skip("systemd-analyze is missing: a machine without systemd cannot use the unit either")
	}
	// A unit is verified with the program and the user that it names.
	text, err := os.ReadFile("systemd/bloodhound-worker@.service")
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/usr/local/bin/bloodhound", "/bin/true", "/etc/bloodhound/worker.env", "-/etc/bloodhound/worker.env").Replace(string(text))
	file := filepath.Join(t.TempDir(), "bloodhound-worker@.service")
	if err := os.WriteFile(file, []byte(here), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "bloodhound-worker") { // it warns of units of the machine, too
		t.Errorf("%v\n%s", err, out)
	}
}

// compose-go is what docker compose reads files with.
func TestCompose(t *testing.T) {
	o, err := cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithEnv([]string{"POSTGRES_PASSWORD=x", "BLOODHOUND_DASHBOARD_TOKEN=y"}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.GetService("worker")
	if err != nil {
		t.Fatal(err)
	}
	if s := w.Environment["BLOODHOUND_STORE"]; s == nil || !strings.HasPrefix(*s, "postgres://bloodhound:x@store/") {
		t.Errorf("the worker's store: %v", s)
	}
	for _, name := range []string{"worker", "dashboard"} {
		s, err := p.GetService(name)
		if err != nil {
			t.Fatal(err)
		}
		var writable []string
		for _, v := range s.Volumes {
			if v.Type != "volume" || v.Source != "" {
				t.Errorf("%s: the folder %s of the host, or a volume that replicas share, may be another user's: %+v", name, v.Source, v)
			}
			writable = append(writable, v.Target)
		}
		for _, mount := range s.Tmpfs {
			target, _, _ := strings.Cut(mount, ":")
			writable = append(writable, target)
		}
		container{name: name, user: s.User, readOnly: s.ReadOnly, dropped: s.CapDrop, noNewPrivileges: slices.Contains(s.SecurityOpt, "no-new-privileges:true"),
			unconfined: slices.Contains(s.SecurityOpt, "seccomp=unconfined"), image: s.Image, arguments: s.Command, writable: writable}.check(t)
	}
}

// container is what a file of this folder says of a container with the image of project.Dockerfile.
type container struct {
	name            string
	user            string // UID:GID
	readOnly        bool   // but for the folders that are writable
	dropped         []string
	noNewPrivileges bool
	unconfined      bool // by seccomp
	image           string
	arguments       []string
	writable        []string
}

// check reports what a container lacks, and what it has that it does not need.
func (c container) check(t *testing.T) {
	t.Helper()
	i := images(t)
	if c.user != i.user {
		t.Errorf("%s: its user is %q, and the image has user %s", c.name, c.user, i.user)
	}
	if !c.readOnly || !c.noNewPrivileges || !slices.Equal(c.dropped, []string{"ALL"}) {
		t.Errorf("%s has more privileges than it needs: %+v", c.name, c)
	}
	// Worlds need the calls that profiles of runtimes deny; a dashboard runs none.
	if runsWorlds := c.arguments[0] == "worker"; c.unconfined != runsWorlds {
		t.Errorf("%s: unconfined by seccomp: %v", c.name, c.unconfined)
	} else if runsWorlds && c.arguments[1] != i.env["BLOODHOUND_BUILT"] {
		t.Errorf("%s: its project is %s, and the image has %s", c.name, c.arguments[1], i.env["BLOODHOUND_BUILT"])
	}
	if c.image != "bloodhound-project" {
		t.Errorf("%s: its image is %s", c.name, c.image)
	}
	for _, name := range []string{"HOME", "TMPDIR", "BLOODHOUND_STATE"} {
		if !slices.ContainsFunc(c.writable, func(folder string) bool { return below(i.env[name], folder) }) {
			t.Errorf("%s: %s=%s of the image is read-only; folders that are not: %q", c.name, name, i.env[name], c.writable)
		}
	}
}

func below(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// built is what the Dockerfiles say of an image.
type built struct {
	user string
	env  map[string]string
	// owned has the owner of each folder that is copied from another stage, where a flag names one.
	owned map[string]string
}

// images reads both Dockerfiles: the second builds on the first.
func images(t *testing.T) built {
	t.Helper()
	b := built{env: map[string]string{}, owned: map[string]string{}}
	for _, name := range []string{"Dockerfile", "project.Dockerfile"} {
		stages := parse(t, name)
		for _, c := range stages[len(stages)-1].Commands {
			switch c := c.(type) {
			case *instructions.UserCommand:
				b.user = c.User
			case *instructions.EnvCommand:
				for _, v := range c.Env {
					b.env[v.Key] = v.Value
				}
			case *instructions.CopyCommand:
				b.owned[c.DestPath] = c.Chown
			}
		}
	}
	return b
}

func parse(t *testing.T, name string) []instructions.Stage {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return stages
}

// The worker of an image owns its project, whose programs are built, and has a home that it can write to.
func TestImages(t *testing.T) {
	i := images(t)
	if uid, gid, ok := strings.Cut(i.user, ":"); !ok || uid != "1000" || gid != "1000" {
		t.Errorf("the user is %q: Kubernetes can tell of numbers alone that they are not root", i.user)
	}
	project := i.env["BLOODHOUND_BUILT"]
	if i.owned[project] != i.user {
		t.Errorf("%s belongs to %q, and the worker is %s", project, i.owned[project], i.user)
	}
	stages := parse(t, "project.Dockerfile")
	var ran []string
	for _, c := range stages[1].Commands {
		if run, ok := c.(*instructions.RunCommand); ok {
			ran = append(ran, strings.Join(run.CmdLine, " "))
		}
	}
	if len(ran) != 1 || !strings.HasPrefix(ran[0], "bloodhound build "+project) {
		t.Errorf("the programs of %s are not built: %q", project, ran)
	}
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "install -d -o 1000 -g 1000 " + i.env["HOME"]; !strings.Contains(string(text), want) {
		t.Errorf("the home %s is not made for the user", i.env["HOME"])
	}
}

// programs finds what `make build` writes into bin.
var programs = regexp.MustCompile(`-o (?:\.\./)?bin/(\S+)`)

// The image has all programs of `make build` beside each other, but for the driver that bloodhound embeds: bloodhound looks for
// bloodhound-live and bloodhound-drivers in its own folder.
func TestImageHasAllPrograms(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	rule, _, _ := strings.Cut(string(makefile[bytes.Index(makefile, []byte("\nbuild:")):]), "\n\n")
	var names []string
	for _, m := range programs.FindAllStringSubmatch(rule, -1) {
		if m[1] != "bloodhound-driver" {
			names = append(names, m[1])
		}
	}
	if len(names) < 3 {
		t.Fatalf("make build makes %q only", names)
	}
	stages := parse(t, "Dockerfile")
	var taken, ran string
	for _, c := range stages[0].Commands {
		if run, ok := c.(*instructions.RunCommand); ok {
			ran += strings.Join(run.CmdLine, " ")
		}
	}
	for _, c := range stages[len(stages)-1].Commands {
		if cp, ok := c.(*instructions.CopyCommand); ok && cp.DestPath == "/usr/local/bin/" {
			taken = strings.Join(cp.SourcePaths, " ")
		}
	}
	want := "make build && mkdir /programs && cp bin/" + strings.Join(names, " bin/") + " /programs/"
	if taken != "/programs/" || !strings.Contains(ran, want) {
		t.Errorf("the image copies %q, of which the build says\n%s\nnot\n%s", taken, ran, want)
	}
}

// A pod is what the test reads of a pod's template.
type pod struct {
	AutomountServiceAccountToken *bool
	SecurityContext              struct {
		RunAsNonRoot                   bool
		RunAsUser, RunAsGroup, FsGroup int
		SeccompProfile                 struct{ Type string }
	}
	Containers []struct {
		Name, Image     string
		Args            []string
		SecurityContext struct {
			AllowPrivilegeEscalation *bool
			ReadOnlyRootFilesystem   bool
			Capabilities             struct{ Add, Drop []string }
		}
		VolumeMounts []struct{ Name, MountPath string }
	}
	Volumes []podVolume
}

type podVolume struct {
	Name     string
	EmptyDir *struct{ SizeLimit string }
}

// Pods start: each is the user of the image, without privileges, and writes where it has volumes.
func TestPods(t *testing.T) {
	text, err := os.ReadFile("kubernetes/bloodhound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pods := 0
	for _, text := range strings.Split(string(text), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if object["kind"] == "Service" {
			continue
		}
		pods++
		var o struct {
			Spec struct{ Template struct{ Spec pod } }
		}
		asJSON, err := json.Marshal(object) // whose keys are compared with names of fields without regard to case
		if err == nil {
			err = json.Unmarshal(asJSON, &o)
		}
		if err != nil {
			t.Fatal(err)
		}
		p := o.Spec.Template.Spec
		name := fmt.Sprint(object["kind"], " ", p.Containers[0].Name)
		if s := p.SecurityContext; !s.RunAsNonRoot || s.FsGroup != s.RunAsGroup {
			t.Errorf("%s: %+v", name, s)
		}
		if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
			t.Errorf("%s: programs could read the token of the service account", name)
		}
		for _, c := range p.Containers {
			var writable []string
			for _, m := range c.VolumeMounts {
				writable = append(writable, m.MountPath)
				i := slices.IndexFunc(p.Volumes, func(v podVolume) bool { return v.Name == m.Name })
				if i < 0 || p.Volumes[i].EmptyDir == nil || p.Volumes[i].EmptyDir.SizeLimit == "" {
					t.Errorf("%s: %s is not an emptyDir volume with a size limit", name, m.Name)
				}
			}
			s := c.SecurityContext
			if len(s.Capabilities.Add) > 0 {
				t.Errorf("%s has capabilities: %q", name, s.Capabilities.Add)
			}
			container{name: name, user: fmt.Sprintf("%d:%d", p.SecurityContext.RunAsUser, p.SecurityContext.RunAsGroup), readOnly: s.ReadOnlyRootFilesystem,
				dropped: s.Capabilities.Drop, noNewPrivileges: s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation,
				unconfined: p.SecurityContext.SeccompProfile.Type == "Unconfined", image: c.Image, arguments: c.Args, writable: writable}.check(t)
			if !slices.Contains([]string{"Unconfined", "RuntimeDefault"}, p.SecurityContext.SeccompProfile.Type) {
				t.Errorf("%s: the cluster chooses its seccomp profile", name)
			}
		}
	}
	if pods != 3 {
		t.Errorf("%d pods", pods)
	}
}

// kubectl decodes an object into its type, which drops what the type does not have.
func TestKubernetes(t *testing.T) {
	if !needs.Has("kubectl") {
		t.Skip("kubectl is missing; Debian's is too old to know all fields of a Job")
	}
	text, err := os.ReadFile("kubernetes/bloodhound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := strings.Split(string(text), "\n---\n")
	if len(objects) != 4 {
		t.Errorf("%d objects", len(objects))
	}
	for _, text := range objects {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		verb := []string{"set", "env", "--local", "-f", "-", "ADDED=x", "-o", "json"}
		if object["kind"] == "Service" {
			verb = []string{"set", "selector", "--local", "-f", "-", "app=bloodhound,part=dashboard", "-o", "json"}
		}
		cmd := exec.Command("kubectl", verb...)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v %s", object["kind"], err, out)
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		for _, lost := range missing(fmt.Sprint(object["kind"]), object, got) {
			t.Errorf("%s is no field of Kubernetes", lost)
		}
	}
}

// missing lists the fields of want that got has not.
func missing(path string, want, got any) (list []string) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, v := range w {
			list = append(list, missing(path+"."+name, v, g[name])...)
		}
	case []any:
		g, _ := got.([]any)
		for i, v := range w {
			if i >= len(g) {
				return append(list, path)
			}
			list = append(list, missing(fmt.Sprintf("%s[%d]", path, i), v, g[i])...)
		}
	default:
		if got == nil {
			list = append(list, path)
		}
	}
	return list
}
