// Command told makes one assertion of each kind with the SDK for Go, and waits a little between them. With the argument
// broken, those that can be violated are.
package main

import (
	"os"
	"time"

	"github.com/antithesishq/antithesis-sdk-go/assert"
	"github.com/antithesishq/antithesis-sdk-go/lifecycle"
)

func main() {
	broken := len(os.Args) > 1 && os.Args[1] == "broken"
	details := map[string]any{"balance": 7}
	time.Sleep(2 * time.Second)
	lifecycle.SetupComplete(details)
	lifecycle.SendEvent("transfer", map[string]any{"from": "a", "to": "b"})
	for i := range 5 {
		assert.Always(true, "holds", details)
		assert.Always(!broken || i < 3, "breaks", details)
		assert.AlwaysOrUnreachable(true, "optional", details)
		assert.Sometimes(i == 4, "lucky", details)
		assert.Sometimes(false, "unlucky", details)
		assert.Reachable("here", details)
		assert.AlwaysGreaterThan(i+1, 0, "positive", details)
		if broken && i == 4 {
			assert.Unreachable("nowhere", details)
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Hour)
}
