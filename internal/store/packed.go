package store

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Packer compresses blobs, and gives back only what has the digest that was asked for. It may be used by several goroutines at once.
type Packer struct {
	pack *zstd.Encoder
	open *zstd.Decoder
}

// NewPacker makes a Packer.
func NewPacker() *Packer {
	var p Packer
	var err error
	if p.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err == nil {
		p.open, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlobBytes+1))
	}
	if err != nil {
		panic("store: " + err.Error()) // only options that are out of range fail
	}
	return &p
}

// Pack compresses the bytes of a blob.
func (p *Packer) Pack(b []byte) []byte { return p.pack.EncodeAll(b, nil) }

// Unpack gives back what Pack was given, if that has the digest; else ErrDamaged.
func (p *Packer) Unpack(d Digest, packed []byte) ([]byte, error) {
	b, err := p.open.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, d, err)
	}
	if DigestOf(b) != d {
		return nil, fmt.Errorf("%w: the bytes of %s have a different digest", ErrDamaged, d)
	}
	return b, nil
}
