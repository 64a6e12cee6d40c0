package cli

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
)

func init() {
	// bloodhound-native is the program on the native engine.
	scripted["bloodhound-native"] = exitMain
	// bloodhound-with-a-bug is the program on the native engine, of which the handler of sync(2) trusts a number that it should not.
	scripted["bloodhound-with-a-bug"] = func() {
		linux.NewSystem().Calls[unix.SYS_SYNC].Handle = func(_ *kernel.Kernel, t *kernel.Thread) kernel.Result {
			var actions [65]kernel.Result
			return actions[len(actions)+int(t.Call.Nr)-unix.SYS_SYNC]
		}
		exitMain()
	}
}
