//go:build linux && amd64

package linux

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

func TestRowsOfPages(t *testing.T) {
	for _, c := range []struct {
		pages []int64
		want  []record.Row
	}{
		{nil, nil},
		{[]int64{7}, []record.Row{{From: 28672, To: 32768}}},
		{[]int64{0, 1, 2, 4}, []record.Row{{From: 0, To: 12288}, {From: 16384, To: 20480}}},
		{[]int64{1, 3, 5, 7, 9, 10}, []record.Row{{From: 4096, To: 8192}, {From: 12288, To: 16384}, {From: 20480, To: 24576}, {From: 28672, To: 32768}}},
		{[]int64{1, 3, 5, 7, 8}, []record.Row{{From: 4096, To: 8192}, {From: 12288, To: 16384}, {From: 20480, To: 24576}, {From: 28672, To: 36864}}},
	} {
		if got := rows(c.pages); !slices.Equal(got, c.want) {
			t.Errorf("pages %d: %v, want %v", c.pages, got, c.want)
		}
	}
}
