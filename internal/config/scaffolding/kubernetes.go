package scaffolding

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// Bounds of what manifests describe.
const (
	maxDocuments = 500 // of one file
	maxReplicas  = 7   // of one node; a world of more is slow
)

// workloadKinds are the kinds of objects whose pods become nodes.
var workloadKinds = []string{"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod"}

// object is a Kubernetes object, as far as it matters here.
type object struct {
	Kind     string   `yaml:"kind"`
	Metadata metadata `yaml:"metadata"`
	// Data of a ConfigMap.
	Data map[string]string `yaml:"data"`
	Spec yaml.Node         `yaml:"spec"`
}

type metadata struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

type podSpec struct {
	Containers []container `yaml:"containers"`
}

type controllerSpec struct {
	Replicas *int `yaml:"replicas"`
	Template struct {
		Metadata metadata `yaml:"metadata"`
		Spec     podSpec  `yaml:"spec"`
	} `yaml:"template"`
	Claims []volumeClaim `yaml:"volumeClaimTemplates"`
}

type volumeClaim struct {
	Metadata metadata `yaml:"metadata"`
}

type serviceSpec struct {
	Selector map[string]string `yaml:"selector"`
	Ports    []struct {
		Port       int       `yaml:"port"`
		TargetPort yaml.Node `yaml:"targetPort"`
	} `yaml:"ports"`
}

type container struct {
	Image   string   `yaml:"image"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	Ports   []struct {
		Name string `yaml:"name"`
		Port int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Env []struct {
		Name      string  `yaml:"name"`
		Value     *string `yaml:"value"`
		ValueFrom struct {
			ConfigMap struct {
				Name string `yaml:"name"`
				Key  string `yaml:"key"`
			} `yaml:"configMapKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	EnvFrom []struct {
		ConfigMap struct {
			Name string `yaml:"name"`
		} `yaml:"configMapRef"`
	} `yaml:"envFrom"`
	Mounts []struct {
		Name string `yaml:"name"`
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	Readiness probe `yaml:"readinessProbe"`
	Liveness  probe `yaml:"livenessProbe"`
}

type probe struct {
	HTTP *struct {
		Path string    `yaml:"path"`
		Port yaml.Node `yaml:"port"`
	} `yaml:"httpGet"`
}

var (
	imageName    = lazyregexp.New(`^[a-z0-9][A-Za-z0-9._/:@-]*$`)
	dnsName      = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	helmTemplate = lazyregexp.New(`\{\{-?\s*(?:\$?\.(?:Values|Release|Chart|Capabilities|Files)|include|toYaml|template|define)\b`)
	manifestSign = lazyregexp.New(`(?m)^kind:\s*["']?(Deployment|StatefulSet|ReplicaSet|DaemonSet|Pod)\b`)
)

// manifests are the objects of a project.
type manifests struct {
	controllers []object
	services    []object
	configMaps  map[string]map[string]string
}

// kubernetesManifests are all objects of the project that run pods, as one world.
func kubernetesManifests(f *folder) []sketch {
	var m manifests
	m.configMaps = map[string]map[string]string{}
	var from []string
	for _, name := range f.files {
		if e := path.Ext(name); e != ".yaml" && e != ".yml" {
			continue
		}
		text := f.read(name)
		if !strings.Contains(text, "apiVersion:") {
			continue
		}
		if helmTemplate.MatchString(text) {
			if manifestSign.MatchString(text) {
				f.note("%s is a Helm template; run init on the output of `helm template`", name)
			}
			continue
		}
		before := len(m.controllers)
		if m.add(f, name, text); len(m.controllers) > before {
			from = append(from, name)
		}
	}
	if len(m.controllers) == 0 {
		return nil
	}
	name := from[0]
	if len(from) > 1 && path.Dir(name) != "." {
		name = path.Dir(name)
	}
	k := sketch{name: name}
	var names []string
	for _, c := range m.controllers {
		if m.addNode(&k, c) {
			names = append(names, k.nodes[len(k.nodes)-1].name)
		}
	}
	if len(k.nodes) == 0 {
		return nil
	}
	k.what = "the Kubernetes manifests in " + name + " with " + strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		k.what += fmt.Sprintf(" and %d more", len(names)-5)
	}
	return []sketch{k}
}

// add reads the documents of a file.
func (m *manifests) add(f *folder, name, text string) {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for range maxDocuments {
		var o object
		err := decoder.Decode(&o)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			if manifestSign.MatchString(text) {
				f.note("%s cannot be read as Kubernetes manifests", name)
			}
			return
		case slices.Contains(workloadKinds, o.Kind):
			m.controllers = append(m.controllers, o)
		case o.Kind == "Service":
			m.services = append(m.services, o)
		case o.Kind == "ConfigMap":
			m.configMaps[o.Metadata.Name] = o.Data
		}
	}
	f.note("%s has more than %d documents; the rest was not read", name, maxDocuments)
}

// addNode makes a node of an object's pods, and the front of the first one that has a port.
func (m *manifests) addNode(k *sketch, o object) bool {
	var spec controllerSpec
	pod, labels := &spec.Template.Spec, &spec.Template.Metadata.Labels
	if o.Kind == "Pod" {
		labels = &o.Metadata.Labels
		if o.Spec.Decode(pod) != nil {
			return false
		}
	} else if o.Spec.Decode(&spec) != nil {
		return false
	}
	if !dnsName.MatchString(o.Metadata.Name) || len(pod.Containers) == 0 ||
		!imageName.MatchString(pod.Containers[0].Image) ||
		slices.ContainsFunc(k.nodes, func(n node) bool { return n.name == nodeNameOf(o.Metadata.Name) }) {
		return false
	}
	c := &pod.Containers[0]
	n := node{name: nodeNameOf(o.Metadata.Name), image: c.Image, entrypoint: c.Command, command: c.Args}
	if len(c.Command) > 0 && len(c.Args) == 0 {
		n.entrypoint, n.command = c.Command[:1], c.Command[1:] // not the CMD of the image
	}
	if spec.Replicas != nil && *spec.Replicas > 1 {
		n.count = min(*spec.Replicas, maxReplicas)
		if n.count < *spec.Replicas {
			k.addCheck("%s has %d replicas; %d nodes stand for them.", n.name, *spec.Replicas, n.count)
		}
		k.addCheck("The pods of %s are the nodes %s1 to %s%d.", n.name, n.name, n.name, n.count)
	}
	if len(pod.Containers) > 1 {
		k.addCheck("Only the first container of %s is a node; it has %d.", n.name, len(pod.Containers))
	}
	m.addEnvironment(k, &n, c)
	for _, mount := range c.Mounts {
		claimed := slices.ContainsFunc(spec.Claims, func(v volumeClaim) bool { return v.Metadata.Name == mount.Name })
		switch plain := dnsName.MatchString(mount.Name) && plainRoute.MatchString(mount.Path); {
		case claimed && plain && n.count > 0:
			n.volumes = append(n.volumes, "{{.Name}}-"+mount.Name+":"+mount.Path)
		case claimed && plain:
			n.volumes = append(n.volumes, n.name+"-"+mount.Name+":"+mount.Path)
		default:
			k.addCheck("%s mounts %s, which no volume claim provides: add it to `volumes` if the program needs it.",
				n.name, mount.Path)
		}
	}
	m.addAliases(k, &n, *labels, c)
	if s, ok := frontOfContainer(c); ok && k.front == "" {
		k.front, k.server = n.name, s
		if n.count > 0 {
			k.front = n.name + "1"
		}
	}
	k.nodes = append(k.nodes, n)
	return true
}

func (m *manifests) addEnvironment(k *sketch, n *node, c *container) {
	for _, from := range c.EnvFrom {
		data := m.configMaps[from.ConfigMap.Name]
		if data == nil {
			k.addCheck("%s takes variables from an object that was not found: add them to `environment`.", n.name)
		}
		for _, name := range slices.Sorted(maps.Keys(data)) {
			n.setVariable(name, data[name])
		}
	}
	for _, v := range c.Env {
		value, ok := m.configMaps[v.ValueFrom.ConfigMap.Name][v.ValueFrom.ConfigMap.Key]
		switch {
		case v.Value != nil:
			n.setVariable(v.Name, *v.Value)
		case ok:
			n.setVariable(v.Name, value)
		default:
			k.addCheck("%s takes the variable %s from elsewhere: add it to `environment`.", n.name, v.Name)
		}
	}
}

// setVariable sets a variable of the environment; a later value replaces an earlier one.
func (n *node) setVariable(name, value string) {
	if !variableName.MatchString(name) || strings.ContainsRune(value, 0) {
		return
	}
	n.env = slices.DeleteFunc(n.env, func(v variable) bool { return v.name == name })
	n.env = append(n.env, variable{name, value})
}

// addAliases gives a node the names of the services that select it.
func (m *manifests) addAliases(k *sketch, n *node, labels map[string]string, c *container) {
	for _, o := range m.services {
		var s serviceSpec
		if o.Spec.Decode(&s) != nil || len(s.Selector) == 0 || !dnsName.MatchString(o.Metadata.Name) {
			continue
		}
		selected := true
		for key, value := range s.Selector {
			selected = selected && labels[key] == value
		}
		if !selected {
			continue
		}
		if o.Metadata.Name != n.name && !slices.Contains(n.aliases, o.Metadata.Name) {
			n.aliases = append(n.aliases, o.Metadata.Name)
		}
		for _, p := range s.Ports {
			if target := portNumber(p.TargetPort, c); target > 0 && target != p.Port {
				k.addCheck("The service %s maps port %d to %d; in a world clients use %d.", o.Metadata.Name, p.Port, target, target)
			}
		}
	}
}

// portNumber is a port by its number or its name in a container, 0 if it is neither.
func portNumber(port yaml.Node, c *container) int {
	var number int
	if port.Decode(&number) == nil {
		return number
	}
	for _, p := range c.Ports {
		if p.Name == port.Value {
			return p.Port
		}
	}
	return 0
}

// frontOfContainer guesses how a container answers: where a probe asks it by HTTP, or else at its first port.
func frontOfContainer(c *container) (server, bool) {
	for _, p := range []probe{c.Readiness, c.Liveness} {
		if p.HTTP == nil {
			continue
		}
		route := p.HTTP.Path
		if route == "" || !plainRoute.MatchString(route) {
			route = "/"
		}
		if port := portNumber(p.HTTP.Port, c); port > 0 && port < 1<<16 {
			return server{http: true, port: port, portIn: "its probe", path: route + "?key={key}"}, true
		}
	}
	if len(c.Ports) > 0 && c.Ports[0].Port > 0 && c.Ports[0].Port < 1<<16 {
		return server{port: c.Ports[0].Port}, true
	}
	return server{}, false
}
