package commit

import (
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// mostStates bounds how much of the model is walked through for schedules.
const mostStates = 100_000

// Schedules makes one of each step of the model: a shortest way to it, as choices of what the world delivers and crashes.
func Schedules(m *model.Model, e *inproc.Engine) (list [][]tape.Edit, err error) {
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

// choices leads the world along a behaviour. What the coordinator decides follows from the votes that it gets, and a participant that refuses does so by chance.
func choices(b *model.Behaviour) []inproc.Choice {
	list := []inproc.Choice{{}} // at the first step nobody has sent anything
	for i := 1; i <= b.Len(); i++ {
		switch b.Action(i) {
		case "Restart":
			list = append(list, inproc.Choice{Crash: "coordinator"})
			continue
		case "Vote":
			for _, p := range names {
				if b.Shows(i, true, "Voted", model.Name(p)) && !b.Shows(i-1, true, "Voted", model.Name(p)) {
					list = append(list, inproc.Choice{From: p, To: "coordinator", Messages: 2})
				}
			}
			continue
		}
		for _, p := range names {
			for _, state := range []string{"working", "prepared"} {
				if b.Shows(i-1, state, "StateOf", model.Name(p)) && !b.Shows(i, state, "StateOf", model.Name(p)) {
					list = append(list, inproc.Choice{From: "coordinator", To: p, Messages: 2})
				}
			}
		}
	}
	return list
}
