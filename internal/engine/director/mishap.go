package director

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxKind bounds the name of a fault that a program makes itself.
const maxKind = 100

// Mishap answers a program that asks, by package sdk, whether a fault happens that it makes itself ("mishap KIND PPM": 1 or 0),
// draws a choice of its test ("choose NAME K": below K), or reports a fault that it has observed ("observed KIND": nothing).
// Anything else is answered by a text that begins with an exclamation mark.
func (d *Director) Mishap(n *Notice) (answer string) {
	node := d.spec.Nodes[n.Node].Name
	fields := strings.Fields(string(n.Text))
	if len(fields) < 2 || !isKind(fields[1]) {
		return fmt.Sprintf("! %.80q is not a question about a fault", n.Text)
	}
	kind := world.FaultKind(fields[1])
	number := uint64(0)
	if len(fields) == 3 {
		number, _ = strconv.ParseUint(fields[2], 10, 32)
	}
	switch {
	case fields[0] == "mishap" && len(fields) == 3:
		if !d.Plan.Mishap(d.tape, kind, node, number) {
			return "0"
		}
		d.act.Happen(node, "mishap", 0, fields[1])
		return "1"
	case fields[0] == "choose" && number > 0:
		return strconv.FormatUint(d.tape.Choose("choice/"+fields[1]+"/"+node, number), 10)
	case fields[0] == "observed" && len(fields) == 2:
		d.Plan.Ledger.ObservedPacket(kind, 0, n.Event)
		return ""
	}
	return fmt.Sprintf("! %.80q is not a question about a fault", n.Text)
}

// isKind reports whether a text can be a part of the name of a stream.
func isKind(text string) bool {
	for _, c := range text {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return text != "" && len(text) <= maxKind
}
