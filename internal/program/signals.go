package program

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameInterrupt is how long after the first signal others belong to it: timeout(1) signals the program and then its whole group,
// and a terminal that closes sends more than one.
const sameInterrupt = time.Second

// Interruptible gives a context that the first signal ends. A second one ends the program at once.
func Interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-signals:
			cancel()
			time.AfterFunc(sameInterrupt, func() { signal.Stop(signals) })
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, cancel
}
