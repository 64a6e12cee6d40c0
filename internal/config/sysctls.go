package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	portRangeName = "net.ipv4.ip_local_port_range"
	portStartName = "net.ipv4.ip_unprivileged_port_start"
)

// sysctls reads the settings of a node's kernel. Docker takes those alone that Linux keeps for each container.
func (l *loader) sysctls(d *declared) {
	n := d.value.get("sysctls")
	if n == nil {
		return
	}
	at := map[string]position{}
	add := func(where, valueAt position, written, value string) {
		name := world.SysctlName(written)
		if s, ok := l.sysctl(d, where, valueAt, name, value); ok {
			d.spec.Sysctls = slices.DeleteFunc(d.spec.Sysctls, func(o world.Sysctl) bool { return o.Name == name })
			d.spec.Sysctls = append(d.spec.Sysctls, s)
			at[name] = valueAt
		}
	}
	for _, item := range n.list() {
		if item.bad {
			continue
		}
		name, value, _ := strings.Cut(item.text, "=")
		add(item.position, item.position, strings.TrimSpace(name), value)
	}
	for _, e := range n.entries {
		if !e.value.bad {
			add(e.key.position, e.value.position, e.name, e.value.text)
		}
	}
	slices.SortFunc(d.spec.Sysctls, func(a, b world.Sysctl) int { return strings.Compare(a.Name, b.Name) })
	l.portRanges(d, at)
}

// sysctl reads one setting, whose name is at one place and value at another, and notes what has no effect.
func (l *loader) sysctl(d *declared, at, valueAt position, name, value string) (s world.Sysctl, ok bool) {
	key := d.key + ".sysctls." + shorten(name)
	kind, known := world.SysctlOf(name)
	switch mode := d.value.get("network_mode"); {
	case name == "kernel.hostname":
		l.fail(at, "write `hostname: "+shorten(strings.TrimSpace(value))+"` for the node", "%s: a container's host name is no sysctl; Docker refuses it", key)
		return s, false
	case !known:
		remedy := "remove it; what it sets is one of the whole machine"
		if near := nearest(name, world.SysctlNames()); near != "" {
			remedy = "did you mean " + strconv.Quote(near) + "? If not, remove it: only net.*, fs.mqueue.* and what is System V's can be set"
		}
		l.fail(at, remedy, "%s: not one of a container's own; Docker refuses it", key)
		return s, false
	case mode != nil && mode.text == "host" && strings.HasPrefix(name, "net."):
		l.fail(at, "remove it, or network_mode", "%s: with `network_mode: host` the network is the machine's; Docker refuses it", key)
		return s, false
	}
	shown, err := kind.Read(value)
	if err != nil {
		l.fail(valueAt, "write what sysctl(8) takes for it", "%s %v", key, err)
		return s, false
	}
	s = world.Sysctl{Name: name, Value: shown}
	if !kind.Acts {
		l.idle(at, key, "only shows at "+s.Path())
	}
	return s, true
}

// portRanges holds the settings about ports against each other, as Linux does.
func (l *loader) portRanges(d *declared, at map[string]position) {
	first, start := int64(32768), int64(0)
	where := at[portStartName]
	for _, s := range d.spec.Sysctls {
		switch v := s.Numbers(); s.Name {
		case portRangeName:
			first, where = v[0], at[portRangeName]
			if v[0] > v[1] {
				l.fail(where, "write the lower port first", "%s.sysctls.%s: %d is above %d", d.key, s.Name, v[0], v[1])
				return
			}
		case portStartName:
			start = v[0]
		}
	}
	if start > first {
		l.fail(where, "let "+portStartName+" be no higher than the first port of "+portRangeName,
			"%s.sysctls: ports from %d on are drawn for anybody, but only root may have those below %d", d.key, first, start)
	}
}
