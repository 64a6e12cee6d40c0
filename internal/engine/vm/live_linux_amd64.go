package vm

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// handStepNs is how much virtual time passes at most before a world that runs in real time looks for orders.
const handStepNs = 50e6

// onceLive says why a run in real time does not repeat.
const onceLive = "a run of --async-vm happens once, in real time"

// inRealTime reports whether worlds of this process run in real time, with orders.
func inRealTime() bool { return os.Getenv(AsyncVariable) != "" }

// obey carries out orders. While the world is paused, the guest stands still in its question.
func (w *World) obey() error {
	for {
		var o *order
		if w.hand.paused {
			select {
			case o = <-w.hand.orders:
			case <-w.options.Interrupt:
				return errInterrupted
			}
		} else {
			select {
			case o = <-w.hand.orders:
			default:
				return nil
			}
		}
		err := w.carryOut(&o.Request)
		if err != nil {
			o.reply <- answer{Error: err.Error()}
		} else {
			o.reply <- answer{Status: w.status()}
		}
	}
}

func (w *World) carryOut(r *Request) error {
	switch r.Do {
	case AskStatus:
	case Pause:
		w.hand.paused = true
	case Resume:
		w.hand.paused = false
	case Inject:
		kind, rest, _ := strings.Cut(strings.TrimSpace(r.Fault), " ")
		text := kind + " rate 1 " + rest
		if kind == string(fault.Run) { // its command comes first
			text = r.Fault + " rate 1"
		}
		rule, err := fault.Parse(text)
		if err != nil {
			return err
		}
		if rule.OnCalls() {
			return errors.New("a fault from `bloodhound vm fault` happens now: leave out its moment")
		}
		if !capabilities.Injects(&rule) {
			return fmt.Errorf("the engine vm does not inject %s; it injects %s", rule.Kind, world.FaultNames(capabilities.Kinds()))
		}
		return w.director.InjectNow(rule)
	default:
		return fmt.Errorf("there is no order %q", r.Do)
	}
	return nil
}

func (w *World) status() *Status {
	d := w.director
	s := &Status{World: w.spec.Name, Paused: w.hand.paused, Phase: d.Phase, VirtualNs: w.NowNs, Events: w.Events, Faults: []FaultUnder{}}
	for i := range w.spec.Nodes {
		n := &d.Nodes[i]
		if len(w.spec.Nodes[i].Command) == 0 { // only drivers and checks run there
			continue
		}
		state := n.Status.String()
		if w.Nodes[i].Paused != 0 {
			state = "paused"
		}
		s.Nodes = append(s.Nodes, NodeStatus{Name: w.spec.Nodes[i].Name, State: state, Healthy: n.Healthy})
	}
	for i := range d.Plan.Active {
		a := &d.Plan.Active[i]
		s.Faults = append(s.Faults, FaultUnder{Kind: string(a.Kind), Target: a.Target, EndNs: a.EndNs()})
	}
	return s
}

// begun opens the place for orders, before a world that is to run in real time does.
func (w *World) begun() (err error) {
	if w.hand != nil || !inRealTime() {
		return nil
	}
	w.Out.Repeat = record.Repeat{Reason: onceLive, Once: true}
	w.hand, err = listenAt(os.Getenv(AsyncVariable))
	return err
}
