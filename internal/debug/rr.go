package debug

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/debug/rsp"
)

// Delve goes backward with rr (https://rr-project.org) and asks its server for checkpoints and restarts in packets of rr's own.

// checkpoint is a position that a debugger has kept.
type checkpoint struct {
	id    int
	at    Position
	where string
}

// rr answers qRRCmd: a command, a thread that does not matter, and an argument.
func (c *client) rr(arguments string) (string, error) {
	f := strings.SplitN(arguments, ":", 3)
	argument := ""
	if len(f) == 3 {
		var err error
		if argument, err = rsp.Unhex(f[2]); err != nil {
			return "E01", nil
		}
	}
	w := c.s.Timeline.World()
	event, _ := w.Moment()
	switch f[0] {
	case "when":
		return rsp.Hex(fmt.Sprintf("Current event: %d", event)), nil
	case "checkpoint":
		id := 1
		if n := len(c.checkpoints); n > 0 {
			id = c.checkpoints[n-1].id + 1
		}
		c.checkpoints = append(c.checkpoints, checkpoint{id, c.s.Timeline.Position(), argument})
		return rsp.Hex(fmt.Sprintf("Checkpoint %d at event %d", id, event)), nil
	case "info checkpoints":
		text := "ID\tWhen\tWhere\n"
		for i := range c.checkpoints {
			k := &c.checkpoints[i]
			text += fmt.Sprintf("%d\t%s\t%s\n", k.id, k.at, k.where)
		}
		return rsp.Hex(text), nil
	case "delete checkpoint":
		n := len(c.checkpoints)
		c.checkpoints = slices.DeleteFunc(c.checkpoints, func(k checkpoint) bool { return strconv.Itoa(k.id) == argument })
		if len(c.checkpoints) == n {
			return rsp.Hex("there is no checkpoint " + argument), nil
		}
		return rsp.Hex("Deleted checkpoint " + argument), nil
	}
	return "", nil
}

// restart answers vRun: go to the beginning, to a checkpoint (c1), or to a point of the run. The next packet that continues stops at once, as
// rr's does.
func (c *client) restart(arguments string) (string, error) {
	_, position, _ := strings.Cut(arguments, ";")
	position, err := rsp.Unhex(position)
	if err != nil {
		return "E01", nil
	}
	switch i := slices.IndexFunc(c.checkpoints, func(k checkpoint) bool { return position == "c"+strconv.Itoa(k.id) }); {
	case i >= 0:
		err = c.s.Timeline.Goto(c.checkpoints[i].at)
	case position == "":
		err = c.s.Timeline.GotoBeginning()
	default:
		_, err = c.s.run("goto " + position)
	}
	if err != nil {
		c.s.Note("%v", err)
		return "E01", nil
	}
	c.restarted = true
	if err := c.settle(Stop{Kind: ByStep}); err != nil {
		return "", err
	}
	return c.stopReply(), nil
}
