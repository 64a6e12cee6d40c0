//go:build !(linux && amd64)

package federation

import (
	"context"

	"github.com/bloodhound-dst/bloodhound/live/internal/daemon"
)

// Checkpoint is an error: see daemon.ErrSystem.
func (b *BIRD) Checkpoint(context.Context) (Copy, error) { return nil, daemon.ErrSystem }
