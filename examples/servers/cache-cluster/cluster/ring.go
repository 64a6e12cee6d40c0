package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// ring says which node owns a key: the one whose point follows the key's on the hash ring (Karger et al., 1997). When a node comes or
// goes, only the keys of its own points move.
type ring []point

type point struct {
	at   uint64
	node string
}

// pointsPerNode evens out what each node owns.
const pointsPerNode = 32

func newRing(nodes []string) ring {
	var r ring
	for _, n := range nodes {
		for i := range pointsPerNode {
			r = append(r, point{position(fmt.Sprintf("%s#%d", n, i)), n})
		}
	}
	slices.SortFunc(r, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	return r
}

func position(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}

// owner of a key, or "" if there is no node.
func (r ring) owner(key string) string {
	if len(r) == 0 {
		return ""
	}
	i, _ := slices.BinarySearchFunc(r, position(key), func(p point, at uint64) int { return cmp.Compare(p.at, at) })
	return r[i%len(r)].node
}
