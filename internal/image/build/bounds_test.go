package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/bloodhound-dst/bloodhound/internal/image"
)

func TestCancelledBuildMakesNoFurtherLayer(t *testing.T) {
	var file strings.Builder
	file.WriteString("FROM scratch\n")
	for i := range 200 {
		fmt.Fprintf(&file, "WORKDIR /d%d\n", i)
	}
	b := newBench(t, map[string]string{"Dockerfile": file.String()})
	for _, cached := range []int{0, 3} { // steps that an earlier build, which was also cancelled, has left in the store
		ctx, cancel := context.WithCancel(context.Background())
		built := 0
		report := func(string) {
			if built++; built == 3 {
				cancel()
			}
		}
		builder := &Builder{Store: b.store, Image: b.base, Run: b.run, Report: report}
		_, err := builder.Build(ctx, &Request{Name: "test", Context: b.dir})
		cancel()
		if !errors.Is(err, context.Canceled) || built != 3 {
			t.Errorf("after %d cached steps: %v, and %d steps were executed", cached, err, built)
		}
	}
}

func TestTooManyLayers(t *testing.T) {
	b := newBench(t, nil)
	w := &work{ctx: t.Context(), Builder: &Builder{Store: b.store}, request: &Request{Context: b.dir}, file: &dockerfile{}}
	s := &steps{work: w, do: true, state: &state{layers: slices.Repeat([]string{"sha256:0"}, image.MaxLayers)}}
	err := s.effect(&instructions.WorkdirCommand{}, nil, func(*layer) error {
		t.Error("a layer was written")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "the image already has 500 layers") {
		t.Errorf("%v", err)
	}
}
