//go:build linux && amd64

package linux

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
)

// synthNet looks up a name under /sys/class/net.
func synthNet(k *Kernel, id net.NodeID, path string) (synthNode, bool) {
	rest, ok := strings.CutPrefix(path, "/sys/class/net")
	if !ok || rest != "" && rest[0] != '/' {
		return synthNode{}, false
	}
	if rest == "" {
		var names []string
		for _, i := range k.Net.Interfaces(id) {
			names = append(names, i.Name)
		}
		slices.Sort(names)
		return synthNames(names...), true
	}
	if len(k.Net.Networks) == 0 {
		return synthNode{}, false // files of the one interface are fixed
	}
	name, file, _ := strings.Cut(rest[1:], "/")
	switch text := k.Net.SysClass(id, name, file); {
	case text != "":
		return synthText(text), true
	case file == "" && k.Net.SysClass(id, name, "mtu") != "":
		return synthNames(net.SysClassFiles...), true
	}
	return synthNode{}, true
}
