//go:build linux && amd64

package native

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/engine"
)

func format(e *engine.Event) string {
	return fmt.Sprintf("%d %d %s %s%v = %d bytes=%x clocks=%d %s\n", e.Number, e.TimeNs, e.Thread, e.Call, e.Args, e.Result, e.Bytes, e.Clocks, e.Detail)
}
