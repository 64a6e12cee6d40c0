package main

import (
	commit "github.com/bloodhound-dst/bloodhound/bench/strategies/two-phase-commit"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// mostStates bounds how many states of the model are visited for schedules.
const mostStates = 100_000

// schedules makes one schedule of each step of the model: a shortest way to it, as choices of what the world delivers and crashes.
func schedules(e inprocess.Engine) (list [][]tape.Edit, err error) {
	var m *model.Model
	if err := commit.Files(func(module, config string) (err error) {
		m, err = model.Load(module, config, model.Options{})
		return err
	}); err != nil {
		return nil, err
	}
	_, walked := m.Behaviours(mostStates, func(b model.Behaviour) bool {
		var edits []tape.Edit
		edits, err = e.Steer(choices(&b))
		list = append(list, edits)
		return err == nil
	})
	if walked != nil {
		return nil, walked
	}
	return list, err
}

// choices leads the world along a behaviour. The coordinator's decision follows from the votes that it gets; whether a participant refuses is drawn.
func choices(b *model.Behaviour) []inprocess.Choice {
	list := []inprocess.Choice{{}} // at the first step nothing has been sent
	for i := 1; i <= b.Len(); i++ {
		switch b.Action(i) {
		case "Restart":
			list = append(list, inprocess.Choice{Crash: "coordinator"})
			continue
		case "Vote":
			for _, p := range commit.Participants {
				if b.Shows(i, true, "Voted", value.ModelValue(p)) && !b.Shows(i-1, true, "Voted", value.ModelValue(p)) {
					list = append(list, inprocess.Choice{From: p, To: "coordinator", Messages: 2})
				}
			}
			continue
		}
		for _, p := range commit.Participants {
			for _, state := range []string{"working", "prepared"} {
				if b.Shows(i-1, state, "StateOf", value.ModelValue(p)) && !b.Shows(i, state, "StateOf", value.ModelValue(p)) {
					list = append(list, inprocess.Choice{From: "coordinator", To: p, Messages: 2})
				}
			}
		}
	}
	return list
}
