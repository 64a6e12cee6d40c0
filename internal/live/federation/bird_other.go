//go:build !(linux && amd64)

package federation

import (
	"context"
	"errors"
)

// Checkpoint is an error on this system.
func (b *BIRD) Checkpoint(context.Context) (Copy, error) {
	return nil, errors.New("copies of BIRD are made on Linux for x86-64 alone")
}
