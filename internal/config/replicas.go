package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// deployed writes what `deploy` says as the keys that say the same.
func (l *loader) deployed() {
	for _, d := range l.nodes {
		deploy := d.value.get("deploy")
		if deploy == nil {
			continue
		}
		limits, policy := deploy.get("resources").get("limits"), deploy.get("restart_policy")
		for _, same := range []struct {
			key  string
			from *entry
			path string
		}{
			{"scale", deploy.entry("replicas"), "replicas"},
			{"cpus", limits.entry("cpus"), "resources.limits.cpus"},
			{"mem_limit", limits.entry("memory"), "resources.limits.memory"},
			{"pids_limit", limits.entry("pids"), "resources.limits.pids"},
			{"restart", restartOf(policy), "restart_policy.condition"},
		} {
			if same.from == nil || same.from.value.bad || same.key == "scale" && valueOr(deploy.get("mode"), "") == "global" {
				continue
			}
			if e := d.value.entry(same.key); e == nil {
				d.value = mergeNodes(d.value, &node{position: d.value.position, kind: mapping, entries: []*entry{{key: same.from.key, name: same.key, value: same.from.value}}})
			} else if same.key != "restart" && e.value.text != same.from.value.text {
				l.fail(e.key.position, "keep one of them", "%s: %s and deploy.%s differ", d.key, same.key, same.path)
			}
		}
	}
}

// restartOf writes a restart_policy as `restart` does.
func restartOf(policy *node) *entry {
	if policy == nil {
		return nil
	}
	n := &node{position: policy.position, text: "always"}
	switch valueOr(policy.get("condition"), "any") {
	case "none":
		n.text = "no"
	case "on-failure":
		n.text = "on-failure"
		if most := valueOr(policy.get("max_attempts"), int64(0)); most > 0 {
			n.text += ":" + strconv.FormatInt(most, 10)
		}
	}
	return &entry{key: n, name: "restart", value: n}
}

// replicate makes NAME-1, NAME-2 and so on of a node that there are several of, and nothing of one that there are none of.
func (l *loader) replicate() {
	var all []*declared
	for _, d := range l.nodes {
		count := int(valueOr(d.value.get("scale"), int64(1)))
		if count == 1 {
			d.index = 1
			all = append(all, d)
			continue
		}
		if count == 0 {
			l.left = append(l.left, d)
			l.note(l.placeOf(d, "scale"), d.key+".scale", "left out: there are none of it")
		}
		for i := 1; i <= count && len(all) < MaxNodes; i++ {
			name := fmt.Sprintf("%s-%d", d.name, i)
			if same := slices.IndexFunc(l.nodes, func(o *declared) bool { return o.name == name }); same >= 0 {
				l.fail(l.nodes[same].at, "rename it", "%s is the name of a replica of %s", name, d.name)
			}
			all = append(all, &declared{name: name, of: d.name, index: i, key: d.key, at: d.at, value: d.value})
		}
	}
	l.nodes = all
}

// replicasOf are the nodes that a service stands for, none if it is one itself.
func (l *loader) replicasOf(name string) []*declared {
	var replicas []*declared
	for _, d := range l.nodes {
		if d.of == name && name != "" {
			replicas = append(replicas, d)
		}
	}
	return replicas
}

// members are the names of the nodes that a name stands for: of the replicas of a service, or itself.
func (l *loader) members(name string) []string {
	if l.node(name) != nil {
		return []string{name}
	}
	var names []string
	for _, d := range l.replicasOf(name) {
		names = append(names, d.name)
	}
	if len(names) == 0 {
		return []string{name}
	}
	return names
}

// struck are the nodes or links that the target of a fault stands for.
func (l *loader) struck(target string) []string {
	there := func(name string) bool { return l.node(name) != nil || len(l.replicasOf(name)) > 0 }
	between := func(a, sign, b string) []string {
		var links []string
		for _, from := range l.members(a) {
			for _, to := range l.members(b) {
				if from != to {
					links = append(links, from+sign+to)
				}
			}
		}
		return links
	}
	if there(target) {
		return l.members(target)
	}
	if a, b, ok := strings.Cut(target, "->"); ok && there(a) && there(b) && a != b {
		return between(a, "->", b)
	}
	for i, c := range target {
		if c == '-' && there(target[:i]) && there(target[i+1:]) && target[:i] != target[i+1:] {
			return between(target[:i], "-", target[i+1:])
		}
	}
	return []string{target}
}
