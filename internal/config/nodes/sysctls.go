package nodes

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const (
	portRangeName = "net.ipv4.ip_local_port_range"
	portStartName = "net.ipv4.ip_unprivileged_port_start"
)

// sysctls reads the settings of a node's kernel. Docker takes those alone that Linux keeps for each container.
func sysctls(l *load.State, d *load.Node) {
	n := d.Value.Get("sysctls")
	if n == nil {
		return
	}
	at := map[string]source.Position{}
	add := func(where, valueAt source.Position, written, value string) {
		name := world.SysctlName(written)
		if s, ok := sysctl(l, d, where, valueAt, name, value); ok {
			d.Spec.Sysctls = slices.DeleteFunc(d.Spec.Sysctls, func(o world.Sysctl) bool { return o.Name == name })
			d.Spec.Sysctls = append(d.Spec.Sysctls, s)
			at[name] = valueAt
		}
	}
	for _, item := range n.List() {
		if item.Bad {
			continue
		}
		name, value, _ := strings.Cut(item.Text, "=")
		add(item.Position, item.Position, strings.TrimSpace(name), value)
	}
	for _, e := range n.Entries {
		if !e.Value.Bad {
			add(e.Key.Position, e.Value.Position, e.Name, e.Value.Text)
		}
	}
	slices.SortFunc(d.Spec.Sysctls, func(a, b world.Sysctl) int { return strings.Compare(a.Name, b.Name) })
	portRanges(l, d, at)
}

// sysctl reads one setting, whose name is at one place and value at another, and notes what has no effect.
func sysctl(l *load.State, d *load.Node, at, valueAt source.Position, name, value string) (s world.Sysctl, ok bool) {
	key := d.Key + ".sysctls." + source.Shorten(name)
	kind, known := world.SysctlOf(name)
	switch mode := d.Value.Get("network_mode"); {
	case name == "kernel.hostname":
		l.Fail(at, "write `hostname: "+source.Shorten(strings.TrimSpace(value))+"` for the node",
			"%s: Docker does not allow a sysctl to set the host name", key)
		return s, false
	case !known:
		remedy := "remove it; the setting applies to the whole machine"
		if near := suggest.Nearest(name, world.SysctlNames()); near != "" {
			remedy = "did you mean " + strconv.Quote(near) + "? If not, remove it: only net.*, fs.mqueue.* and settings of System V IPC can be set"
		}
		l.Fail(at, remedy, "%s: Docker does not allow this setting, since it is not per container", key)
		return s, false
	case mode != nil && mode.Text == "host" && strings.HasPrefix(name, "net."):
		l.Fail(at, "remove it, or remove network_mode",
			"%s: Docker does not allow this setting with `network_mode: host`, since it belongs to the machine", key)
		return s, false
	}
	shown, err := kind.Read(value)
	if err != nil {
		l.Fail(valueAt, "write a value that sysctl(8) accepts", "%s %v", key, err)
		return s, false
	}
	s = world.Sysctl{Name: name, Value: shown}
	if !kind.Acts {
		l.Idle(at, key, "programs can only read the value, at "+s.Path())
	}
	return s, true
}

// portRanges holds the settings about ports against each other, as Linux does.
func portRanges(l *load.State, d *load.Node, at map[string]source.Position) {
	first, start := int64(32768), int64(0)
	where := at[portStartName]
	for _, s := range d.Spec.Sysctls {
		switch v := s.Numbers(); s.Name {
		case portRangeName:
			first, where = v[0], at[portRangeName]
			if v[0] > v[1] {
				l.Fail(where, "write the lower port first", "%s.sysctls.%s: %d is above %d", d.Key, s.Name, v[0], v[1])
				return
			}
		case portStartName:
			start = v[0]
		}
	}
	if start > first {
		l.Fail(where, "set "+portStartName+" to at most the first port of "+portRangeName,
			"%s.sysctls: ephemeral ports start at %d, but only root may use ports below %d", d.Key, first, start)
	}
}
