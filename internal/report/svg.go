package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/chart"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Bounds of the drawings of a page.
const (
	pageClients    = 24  // rows of clients
	pageInjections = 12  // rows of faults
	closeMessages  = 260 // messages of the near view
	closeLines     = 600 // lines of logs that are looked at for these
	closeNotes     = 60  // lines of a program's log beside it
	nodeColours    = 8
	laneHeight     = 46
	rowHeight      = 17
	stripHeight    = 46  // of the cause
	labelWidth     = 7.2 // of a character
)

// canvas is the size of the drawings: each is made for wide and for narrow screens, and a style shows one of the two.
type canvas struct {
	suffix        string // of ids
	class         string
	width, gutter float64
	ticks         int
	// Of the near view: the column of times, the room for all lanes and for one, for notes, and how long a note may be.
	times, room, lane, leastLane, notes float64
	line, lines                         int
}

var (
	wideCanvas = canvas{class: "wide", width: 1160, gutter: 132, ticks: 10,
		times: 96, room: 560, lane: 130, leastLane: 26, notes: 620, line: 90, lines: 1}
	narrowCanvas = canvas{suffix: "-narrow", class: "narrow", width: 372, gutter: 92, ticks: 4,
		room: 110, lane: 26, leastLane: 12, notes: 236, line: 33, lines: 3}
)

// lanes are the nodes that take part, in the order of the Spec.
func (p *PageOf) lanes() map[string]int {
	lanes := map[string]int{}
	for _, n := range p.Spec.Nodes {
		if _, ok := lanes[n.Name]; !ok {
			lanes[n.Name] = len(lanes)
		}
	}
	return lanes
}

func colour(lane int) string { return fmt.Sprintf("c%d", lane%nodeColours) }

// injectionsIn are the faults that reach into a window, the longest ones first to be kept, in order of their start.
func injectionsIn(list []fault.Injection, fromNs, toNs int64, limit int) (in []fault.Injection, left int) {
	keep := nearest[fault.Injection]{limit: limit}
	for i, s := range list {
		if s.EndNs >= fromNs && s.StartNs <= toNs {
			keep.add(s, uint64(i), -(min(s.EndNs, toNs) - max(s.StartNs, fromNs)))
		}
	}
	return keep.list()
}

// nodesOf are the nodes of a fault's target: n1, n1-n2 or n1->n2.
func nodesOf(target string, lanes map[string]int) []string {
	if _, ok := lanes[target]; ok {
		return []string{target}
	}
	for a := range lanes {
		for _, sep := range []string{"->", "-"} {
			b, ok := strings.CutPrefix(target, a+sep)
			if _, node := lanes[b]; ok && node {
				return []string{a, b}
			}
		}
	}
	words := strings.FieldsFunc(target, func(c rune) bool { return strings.ContainsRune(" ,|<>", c) })
	return slices.DeleteFunc(words, func(w string) bool { _, node := lanes[w]; return !node })
}

// plane is a drawing of the window on one linear axis of time.
type plane struct {
	*chart.Drawing
	canvas
	f     *focus
	right float64
	top   float64
	lanes map[string]int
	laneY func(lane int) float64
}

func (d *plane) x(ns int64) float64 {
	at := float64(min(max(ns, d.f.fromNs), d.f.toNs)-d.f.fromNs) / float64(max(d.f.toNs-d.f.fromNs, 1))
	return d.gutter + at*(d.right-d.gutter)
}

// label names a row in the gutter.
func (d *plane) label(y float64, class, text string) {
	if runes := int((d.gutter - 8) / labelWidth); len([]rune(text)) > runes {
		d.Add("<g>%s", d.Title("%s", text))
		d.Text(d.gutter-8, y, class, "end", string([]rune(text)[:runes-1])+"…")
		d.Add("</g>")
		return
	}
	d.Text(d.gutter-8, y, class, "end", text)
}

// overview draws the window: the cause, faults, nodes with their messages, clients with their operations.
func (p *PageOf) overview(c canvas, f *focus, ops []history.Operation) template.HTML {
	injections, _ := injectionsIn(p.Outcome.Ledger.Injections, f.fromNs, f.toNs, pageInjections)
	names := preferConflict(clients(ops), ops, f)
	d := &plane{Drawing: &chart.Drawing{}, canvas: c, f: f, right: c.width - 14, top: 26, lanes: p.lanes()}
	faultsAt := d.top
	if p.caused() {
		faultsAt += stripHeight + 20
	}
	nodesAt := faultsAt + float64(len(injections))*rowHeight + 26
	d.laneY = func(lane int) float64 { return nodesAt + float64(lane)*laneHeight }
	clientsAt := nodesAt + float64(len(d.lanes)-1)*laneHeight + 44
	bottom := clientsAt + float64(len(names))*rowHeight + 8
	d.Add(`<svg class="diagram timeline %s" id="overview%s" viewBox="0 0 %.0f %.0f" role="img" aria-label="space-time diagram of the window" data-from="%d" data-to="%d" data-left="%.0f" data-right="%.0f">`,
		c.class, c.suffix, c.width, bottom+6, f.fromNs, f.toNs, c.gutter, d.right)
	d.Add(`<clipPath id="window%s"><rect x="%.0f" y="0" width="%.0f" height="%.0f"/></clipPath><g class="ticks" data-top="%.1f" data-bottom="%.1f" data-ticks="%d">`,
		c.suffix, c.gutter-4, d.right-c.gutter+8, bottom+6, d.top-6, bottom, c.ticks)
	for _, ns := range ticks(f.fromNs, f.toNs, c.ticks) {
		d.Add(`<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, d.x(ns), d.top-6, d.x(ns), bottom)
		d.Text(d.x(ns), 13, "tick", "middle", shortSeconds(ns))
	}
	d.Add("</g>")
	d.faults(injections, faultsAt)
	for _, n := range p.Spec.Nodes {
		lane := d.lanes[n.Name]
		d.Add(`<line class="lane %s" data-node="%d" x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f"/>`, colour(lane), lane, c.gutter, d.laneY(lane), d.right, d.laneY(lane))
		d.label(d.laneY(lane)+4, "label node-label "+colour(lane), n.Name)
	}
	d.Add(`<g clip-path="url(#window%s)">`, c.suffix)
	if p.Diagram != nil {
		d.diagram(p.Diagram)
	}
	for _, c := range callsWithFaults(p.Outcome.DiskChanges, f) {
		if lane, ok := d.lanes[c.Node]; ok {
			d.Add(`<circle class="mark fault-mark" %s cx="%.1f" cy="%.1f" r="5">%s</circle>`, when(c.TimeNs, c.TimeNs), d.x(c.TimeNs), d.laneY(lane),
				d.Title("%s at %s: %s", strings.ReplaceAll(c.Fault, "_", " "), Seconds(c.TimeNs), changeText(&c)))
		}
	}
	d.Add("</g>")
	d.operations(names, ops, clientsAt, p.Outcome)
	if p.caused() {
		d.cause(p.Explanation, bottom)
	}
	d.Add(`<g clip-path="url(#window%s)"><line class="violation" %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/><line class="cursor" x1="0" y1="%.1f" x2="0" y2="%.1f" visibility="hidden"/></g>`,
		c.suffix, when(f.atNs, f.atNs), d.x(f.atNs), d.top-6, d.x(f.atNs), bottom, d.top-6, bottom)
	d.Add(`<rect class="brush" x="0" y="%.1f" width="0" height="%.1f" visibility="hidden"/>`, d.top-6, bottom-d.top+6)
	d.Add("</svg>")
	return template.HTML(d.String())
}

// legend names the marks that the timeline has.
func (p *PageOf) legend(f *focus, ops []history.Operation) (list []legendView) {
	add := func(drawn bool, class, text string) {
		if drawn {
			list = append(list, legendView{class, text})
		}
	}
	conflict := func(op history.Operation) bool { return f.conflict[op.Call] }
	injections, _ := injectionsIn(p.Outcome.Ledger.Injections, f.fromNs, f.toNs, pageInjections)
	add(p.caused(), "k-chance", "chance of failure with new random choices after a moment, and 95 % intervals")
	add(slices.ContainsFunc(ops, conflict), "k-conflict", "operation in conflict")
	add(slices.ContainsFunc(ops, func(op history.Operation) bool { return !conflict(op) }), "k-op", "operation")
	add(len(injections)+len(callsWithFaults(p.Outcome.DiskChanges, f)) > 0, "k-fault", "fault, and the nodes it affects")
	add(p.Diagram != nil && slices.ContainsFunc(p.Diagram.Messages, func(m Message) bool {
		return m.ReadEvent == 0 && m.SentNs >= f.fromNs && m.SentNs <= f.toNs
	}), "k-unread", "unread message")
	add(true, "k-violation", "violation")
	return list
}

// caused reports whether the timeline has the chance of failure over time.
func (p *PageOf) caused() bool { return p.Explanation != nil && len(p.Explanation.Points) > 1 }

// faults draws faults as bars, and marks the nodes that they affect.
func (d *plane) faults(injections []fault.Injection, y float64) {
	for i, s := range injections {
		y := y + float64(i)*rowHeight
		w := max(d.x(s.EndNs)-d.x(s.StartNs), 2)
		d.Add(`<g clip-path="url(#window%s)">%s<rect class="fault" %s x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3"/></g>`, d.suffix,
			d.Title("%s %s, %s to %s%s", s.Kind, s.Target, Seconds(s.StartNs), Seconds(s.EndNs), seen(s)),
			when(s.StartNs, s.EndNs), d.x(s.StartNs), y, w, rowHeight-4)
		name := string(s.Kind) + " " + s.Target
		if d.suffix != "" { // there is no room for both
			name = s.Target + " " + string(s.Kind)
		}
		d.label(y+10, "label fault-label", name)
		for _, n := range nodesOf(s.Target, d.lanes) {
			d.Add(`<rect class="injected" clip-path="url(#window%s)" %s x="%.1f" y="%.1f" width="%.1f" height="22"/>`, d.suffix,
				when(s.StartNs, s.EndNs), d.x(s.StartNs), d.laneY(d.lanes[n])-11, w)
		}
	}
}

// diagram draws messages, and starts and ends of processes.
func (d *plane) diagram(g *Diagram) {
	for i := range g.Messages {
		d.message(&g.Messages[i])
	}
	for _, m := range g.Marks {
		lane, ok := d.lanes[m.Node]
		if !ok || m.TimeNs < d.f.fromNs || m.TimeNs > d.f.toNs {
			continue
		}
		d.Add(`<circle class="mark %s" %s cx="%.1f" cy="%.1f" r="3.5">%s</circle>`, colour(lane), when(m.TimeNs, m.TimeNs), d.x(m.TimeNs), d.laneY(lane),
			d.Title("%s %s at %s", m.Node, m.Text, Seconds(m.TimeNs)))
	}
}

// operations draws a row for each client.
func (d *plane) operations(names []string, ops []history.Operation, top float64, o *check.Judged) {
	row := map[string]int{}
	y := func(i int) float64 { return top + float64(i)*rowHeight }
	for i, c := range names {
		row[c] = i
		d.label(y(i)+10, "label", c)
	}
	for _, op := range ops {
		i, ok := row[op.Client]
		end := endOf(&op, o)
		if !ok || end < d.f.fromNs || op.CallTimeNs > d.f.toNs {
			continue
		}
		class := "op " + string(op.Type)
		if d.f.conflict[op.Call] {
			class += " conflict"
		}
		d.Add(`<a href="#op-%d" clip-path="url(#window%s)"><rect class="%s" %s x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2">%s</rect></a>`,
			op.Call, d.suffix, class, when(op.CallTimeNs, end), d.x(op.CallTimeNs), y(i)+1,
			max(d.x(end)-d.x(op.CallTimeNs), 2.5), rowHeight-5, d.Title("%s: %s", op.Client, operationText(&op)))
	}
}

// cause draws the probability of the failure over time as a strip above the faults, and the moment of no return as a line through all rows.
func (d *plane) cause(e *Explanation, bottom float64) {
	top, base := d.top, d.top+stripHeight
	y := func(share float64) float64 { return base - share*stripHeight }
	for share := range 2 {
		at := y(float64(share))
		d.Add(`<line class="grid" x1="%.0f" y1="%.1f" x2="%.0f" y2="%.1f"/>`, d.gutter, at, d.right, at)
		d.Text(d.gutter-8, at+4, "tick", "end", fmt.Sprintf("%d %%", 100*share))
	}
	if middle := (top+base)/2 + 4; d.suffix == "" {
		d.label(middle, "label", "chance of failure")
	} else {
		d.label(middle-6, "label", "chance of")
		d.label(middle+7, "label", "failure")
	}
	d.Add(`<g clip-path="url(#window%s)" class="strip">`, d.suffix)
	at := func(ns int64) float64 { // not clamped, as lines lead out of the window
		return d.gutter + float64(ns-d.f.fromNs)/float64(max(d.f.toNs-d.f.fromNs, 1))*(d.right-d.gutter)
	}
	for i := range e.Points {
		q := &e.Points[i]
		d.Add(`<line class="interval" %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, when(q.AtNs, q.AtNs), at(q.AtNs), y(q.Low), at(q.AtNs), y(q.High))
		if i > 0 {
			o := &e.Points[i-1]
			d.Add(`<line class="chance" %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, when(o.AtNs, q.AtNs), at(o.AtNs), y(o.Share()), at(q.AtNs), y(q.Share()))
		}
		d.Add(`<circle class="dot" %s cx="%.1f" cy="%.1f" r="3.2">%s</circle>`, when(q.AtNs, q.AtNs), at(q.AtNs), y(q.Share()), d.Title("%s: %s", Seconds(q.AtNs), odds(q)))
	}
	if e.Jump != nil {
		ns := e.Jump.Before.AtNs
		d.Add(`<line class="no-return" %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, when(ns, ns), at(ns), top-6, at(ns), bottom)
		anchor, shift := "start", 5.0
		if at(ns) > (d.gutter+d.right)/2 {
			anchor, shift = "end", -5
		}
		d.Add(`<g %s data-x="%.1f">`, when(ns, ns), at(ns))
		d.Text(at(ns)+shift, base+13, "no-return-label", anchor, "moment of no return, "+aboutSeconds(ns))
		d.Add("</g>")
	}
	d.Add("</g>")
}

func (d *plane) message(m *Message) {
	from, ok := d.lanes[m.From]
	to, known := d.lanes[m.To]
	if !ok || !known || m.SentNs < d.f.fromNs || m.SentNs > d.f.toNs {
		return
	}
	if m.ReadEvent == 0 {
		x1, y1 := d.x(m.SentNs), d.laneY(from)
		y2 := y1 + math.Copysign(14, d.laneY(to)-y1)
		d.Add(`<g class="unread" %s data-x="%.1f">%s<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/><path d="M%.1f %.1fl4 4m0-4l-4 4"/></g>`,
			when(m.SentNs, m.SentNs), x1,
			d.Title("%s of %s to %s over %s, sent at %s, never read", plural.Count(m.Bytes, "byte"), m.From, m.To, m.Via,
				Seconds(m.SentNs)), x1, y1, x1+2, y2, x1, y2-2)
		return
	}
	d.Add(`<line class="message %s" %s x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, colour(from), when(m.SentNs, m.ReadNs),
		d.x(m.SentNs), d.laneY(from), d.x(m.ReadNs), d.laneY(to))
}

// when returns the attributes by which the page's script places a mark of the timeline.
func when(fromNs, toNs int64) string { return fmt.Sprintf(`data-a="%d" data-b="%d"`, fromNs, toNs) }

// callsWithFaults are the calls in a window that met a fault, the last ones if there are many.
func callsWithFaults(changes []record.DiskChange, f *focus) (list []record.DiskChange) {
	for i := range changes {
		if c := &changes[i]; c.Fault != "" && c.TimeNs >= f.fromNs && c.TimeNs <= f.toNs {
			list = append(list, *c)
		}
	}
	return list[max(0, len(list)-PageInjections):]
}

// preferConflict bounds the clients that are drawn; those whose operations are in conflict come in any case.
func preferConflict(names []string, ops []history.Operation, f *focus) []string {
	if len(names) <= pageClients {
		return names
	}
	in := map[string]bool{}
	for _, op := range ops {
		if f.conflict[op.Call] {
			in[op.Client] = true
		}
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(x, y string) int {
		switch {
		case in[x] == in[y]:
			return 0
		case in[x]:
			return -1
		}
		return 1
	})
	sorted = sorted[:pageClients]
	slices.Sort(sorted)
	return sorted
}

// ticks are round times in a window, so many at most.
func ticks(fromNs, toNs int64, most int) []int64 {
	step := int64(1)
	for (toNs-fromNs)/step > int64(most) {
		switch first := leading(step); first {
		case 1:
			step *= 2
		case 2:
			step = step / 2 * 5
		default:
			step *= 2
		}
	}
	var list []int64
	for at := (fromNs + step - 1) / step * step; at <= toNs; at += step {
		list = append(list, at)
	}
	return list
}

func leading(n int64) int64 {
	for n >= 10 {
		n /= 10
	}
	return n
}

// shortSeconds writes a time without zeros at its end.
func shortSeconds(ns int64) string {
	text := strings.TrimSuffix(Seconds(ns), "s")
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " s"
}

// instant is something in the near view, at one point of time.
type instant struct {
	ns    int64
	order uint64
	note  string // beside the drawing, which takes a line
	class string
	node  string
}

// closeUp draws what matters most with time running down, and not to scale: waits are short, and what lies close
// together is drawn apart. Where messages are left out, it says how many.
func (p *PageOf) closeUp(c canvas, f *focus, ops []history.Operation) template.HTML {
	lanes := p.lanes()
	all, folds := p.folded(f, ops)
	messages, dropped := closest(f, all)
	instants := p.instants(f, messages, ops)
	columns := c.times
	gap := min(max(c.room/float64(max(len(lanes), 1)), c.leastLane), c.lane)
	x := func(lane int) float64 { return columns + gap/2 + float64(lane)*gap }
	notesAt := columns + gap*float64(len(lanes)) + 16
	if c.times == 0 { // lanes are narrower than the bars of operations
		notesAt += 14
	}
	width := notesAt + c.notes

	ys, skips, notes, bottom := f.place(c, instants, dropped, folds)
	d := &chart.Drawing{}
	d.Add(`<svg class="diagram heads %s" viewBox="0 0 %.0f 24" aria-hidden="true">`, c.class, width)
	for _, n := range p.Spec.Nodes {
		name := n.Name
		if runes := max(int((gap-6)/labelWidth), 2); len([]rune(name)) > runes && c.suffix != "" {
			name = string([]rune(name)[:runes])
		}
		d.Text(x(lanes[n.Name]), 16, "label node-label "+colour(lanes[n.Name]), "middle", name)
	}
	d.Add("</svg>")
	d.Add(`<svg class="diagram close %s" id="close%s" viewBox="0 24 %.0f %.0f" role="img" aria-label="what matters most, time running down">`, c.class, c.suffix, width, bottom-20)
	for _, n := range p.Spec.Nodes {
		lane := lanes[n.Name]
		d.Add(`<line class="lane %s" x1="%.1f" y1="24" x2="%.1f" y2="%.1f"/>`, colour(lane), x(lane), x(lane), bottom)
	}
	// at is the place of a time that need not be an instant.
	at := func(ns int64) float64 {
		if v, ok := ys[ns]; ok {
			return v
		}
		i, _ := slices.BinarySearchFunc(instants, ns, func(in instant, t int64) int { return cmp.Compare(in.ns, t) })
		switch {
		case i == 0:
			return 34
		case i == len(instants):
			return bottom
		}
		return (ys[instants[i-1].ns] + ys[instants[i].ns]) / 2
	}
	if len(instants) > 0 {
		p.closeFaults(d, instants[0].ns, instants[len(instants)-1].ns, lanes, x, at)
	}
	for _, s := range skips {
		d.Add(`<line class="skip" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, columns-6, s.y+2, notesAt-10, s.y+2)
		d.Text(notesAt, s.y+6, "skip-text", "start", Fit(s.text, c.line))
	}
	p.closeOperations(d, f, ops, lanes, x, at)
	drawMessages(d, messages, lanes, gap, x, at)
	for _, n := range notes {
		if c.times > 0 {
			d.Text(columns-10, n.y+4, "tick", "end", Seconds(n.i.ns))
		}
		class := "note " + n.i.class
		if lane, ok := lanes[n.i.node]; ok {
			d.Add(`<circle class="mark %s" cx="%.1f" cy="%.1f" r="3.5"/>`, colour(lane), x(lane), n.y)
			class += " " + colour(lane)
		}
		for k, line := range c.noteLines(n.i) {
			d.Text(notesAt, n.y+4+13*float64(k), class, "start", line)
		}
	}
	d.Add(`<line class="violation" id="violation`+c.suffix+`" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, columns, at(f.atNs), notesAt-8, at(f.atNs))
	d.Add("</svg>")
	return template.HTML(d.String())
}

// closeFaults marks the nodes that faults affect between two times.
func (p *PageOf) closeFaults(d *chart.Drawing, fromNs, toNs int64, lanes map[string]int, x func(int) float64, at func(int64) float64) {
	injections, _ := injectionsIn(p.Outcome.Ledger.Injections, fromNs, toNs, pageInjections)
	for _, s := range injections {
		for _, n := range nodesOf(s.Target, lanes) {
			d.Add(`<rect class="injected" x="%.1f" y="%.1f" width="24" height="%.1f">%s</rect>`, x(lanes[n])-12, at(s.StartNs),
				max(at(s.EndNs)-at(s.StartNs), 2), d.Title("%s %s, %s to %s", s.Kind, s.Target, Seconds(s.StartNs), Seconds(s.EndNs)))
		}
	}
}

// noteLines breaks a note into lines. Where there is no column of times, it begins with its time.
func (c *canvas) noteLines(i *instant) []string {
	if c.lines == 1 {
		return []string{i.note}
	}
	text := []rune(aboutSeconds(i.ns) + "  " + Visible(i.note, c.line*c.lines-12))
	var lines []string
	for len(text) > c.line && len(lines) < c.lines-1 {
		cut := c.line
		for k := c.line; k > c.line/2; k-- {
			if text[k] == ' ' {
				cut = k
				break
			}
		}
		lines, text = append(lines, string(text[:cut])), []rune(strings.TrimLeft(string(text[cut:]), " "))
	}
	return append(lines, Fit(string(text), c.line))
}

// skip marks where time was left out.
type skip struct {
	y    float64
	text string
}

// placedNote is an instant whose note is at y.
type placedNote struct {
	y float64
	i *instant
}

// place gives every instant its place; time in between is found by order. Where time or messages are left out there is a skip.
func (f *focus) place(c canvas, instants []instant, dropped []int64, folds []foldedRounds) (ys map[int64]float64, skips []skip, notes []placedNote,
	bottom float64) {
	y := 46.0
	ys = map[int64]float64{}
	note := math.Inf(-1)
	undrawn := 0
	if len(instants) > 0 {
		undrawn = between(dropped, f.fromNs, instants[0].ns)
	}
	previous := int64(-1)
	for i := range instants {
		in := &instants[i]
		if in.ns != previous {
			if previous >= 0 {
				y += stepOf(in.ns - previous)
				undrawn += between(dropped, previous, in.ns)
				again := foldsBetween(folds, previous, in.ns)
				if wait := in.ns - previous; wait >= focusEdgeNs || again != "" || undrawn > 0 && wait >= focusMarginNs {
					y = max(y, note)
					text := shortDuration(wait) + " later" + again
					if undrawn > 0 {
						text += fmt.Sprintf(", %s before not drawn", plural.Count(undrawn, "message"))
					}
					skips = append(skips, skip{y + 8, text})
					y += 28
					undrawn = 0
				}
			}
			previous = in.ns
			ys[in.ns] = y
		}
		if in.note != "" {
			if y < note+15 {
				y = note + 15
			}
			note = y + 13*float64(len(c.noteLines(in))-1)
			notes = append(notes, placedNote{y, in})
		}
	}
	if len(instants) > 0 {
		if undrawn += between(dropped, previous, f.toNs+1); undrawn > 0 {
			y += 22
			skips = append(skips, skip{y, plural.Count(undrawn, "message") + " before and after not drawn"})
		}
	}
	return ys, skips, notes, y + 22
}

func drawMessages(d *chart.Drawing, messages []Message, lanes map[string]int, gap float64, x func(int) float64, at func(int64) float64) {
	for _, m := range messages {
		from, to := lanes[m.From], lanes[m.To]
		x1, y1 := x(from), at(m.SentNs)
		if m.ReadEvent == 0 {
			x2 := x1 + math.Copysign(gap*0.45, x(to)-x1)
			d.Add(`<g class="unread">%s<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/><path d="M%.1f %.1fl6 6m0-6l-6 6"/></g>`,
				d.Title("%s of %s to %s over %s, sent at %s (event %d), never read", plural.Count(m.Bytes, "byte"), m.From, m.To,
					m.Via, Seconds(m.SentNs), m.SentEvent),
				x1, y1, x2, y1+3, x2-3, y1)
			continue
		}
		x2, y2 := x(to), at(m.ReadNs)
		d.Add(`<g class="arrow %s" data-from="%d" data-to="%d">%s<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>%s</g>`, colour(from), from, to,
			d.Title("%s of %s to %s over %s, sent at %s (event %d), read at %s (event %d)", plural.Count(m.Bytes, "byte"), m.From, m.To, m.Via,
				Seconds(m.SentNs), m.SentEvent, Seconds(m.ReadNs), m.ReadEvent), x1, y1, x2, y2, head(x1, y1, x2, y2))
	}
}

// closeOperations draws the operations in conflict beside the node of their client, each in a column of its own.
func (p *PageOf) closeOperations(d *chart.Drawing, f *focus, ops []history.Operation, lanes map[string]int, x func(int) float64, at func(int64) float64) {
	column := 0
	for _, op := range ops {
		if !f.conflict[op.Call] {
			continue
		}
		lane, ok := lanes[p.clientNode(op.Client)]
		if !ok {
			continue
		}
		y1, y2 := at(op.CallTimeNs), at(endOf(&op, p.Outcome))
		d.Add(`<rect class="op conflict" x="%.1f" y="%.1f" width="7" height="%.1f" rx="2">%s</rect>`, x(lane)+6+float64(column%4)*9, y1,
			max(y2-y1, 4), d.Title("%s: %s", op.Client, operationText(&op)))
		column++
	}
}

// clientNode is the node on which a client runs: that of the workload which its name begins with.
func (p *PageOf) clientNode(client string) string {
	for _, w := range p.Spec.Workloads {
		if strings.HasPrefix(client, w.Name+"/") || len(p.Spec.Workloads) == 1 {
			return w.Node
		}
	}
	return ""
}

// closest are the messages that the near view draws, and the times at which others were sent.
func closest(f *focus, all []Message) (drawn []Message, dropped []int64) {
	keep := nearest[Message]{limit: closeMessages}
	for _, m := range all {
		at := f.distance(m.SentNs)
		if m.ReadEvent > 0 {
			at = min(at, f.distance(m.ReadNs))
		}
		keep.add(m, m.SentEvent, at)
	}
	drawn, _ = keep.list()
	in := map[uint64]bool{}
	for _, m := range drawn {
		in[m.SentEvent] = true
	}
	for _, m := range all {
		if !in[m.SentEvent] {
			dropped = append(dropped, m.SentNs)
		}
	}
	return drawn, dropped
}

// foldedRounds are exchanges of messages that are not drawn, being what was drawn before them again.
type foldedRounds struct {
	fromNs   int64
	rounds   int
	messages int
}

// burstGapNs is how long nothing is sent between two exchanges.
const burstGapNs = 10_000_000

// folded are the messages of the window without heartbeats: exchanges that repeat what was sent just before, between the same nodes and
// of the same sizes, while nothing else happens.
func (p *PageOf) folded(f *focus, ops []history.Operation) (kept []Message, folds []foldedRounds) {
	if p.Diagram == nil {
		return nil, nil
	}
	lanes := p.lanes()
	var bursts [][]Message
	last := int64(math.MinInt64)
	for _, m := range p.Diagram.Messages {
		_, from := lanes[m.From]
		_, to := lanes[m.To]
		if !from || !to || m.SentNs < f.fromNs || m.SentNs > f.toNs {
			continue
		}
		if len(bursts) == 0 || m.SentNs-last > burstGapNs {
			bursts = append(bursts, nil)
		}
		last = max(last, prompt(&m))
		bursts[len(bursts)-1] = append(bursts[len(bursts)-1], m)
	}
	told := p.instants(f, nil, ops) // what rows of text describe
	keys := make([]string, len(bursts))
	for i, b := range bursts {
		from, to := b[0].SentNs, b[len(b)-1].SentNs
		for _, m := range b {
			to = max(to, prompt(&m))
		}
		k, _ := slices.BinarySearchFunc(told, from, func(in instant, t int64) int { return cmp.Compare(in.ns, t) })
		if k < len(told) && told[k].ns <= to {
			continue
		}
		var parts []string
		for _, m := range b {
			parts = append(parts, fmt.Sprintf("%s>%s %s %d %t", m.From, m.To, m.Via, m.Bytes/sizeClass, prompt(&m) == m.ReadNs))
		}
		slices.Sort(parts)
		keys[i] = strings.Join(parts, "\n")
	}
	hidden := make([]bool, len(bursts))
	for _, r := range repeats(keys) {
		end := r.First + r.Period*r.Rounds
		fold := foldedRounds{fromNs: bursts[r.First][0].SentNs, rounds: r.Rounds}
		for i := r.First; i < end; i++ {
			hidden[i] = true
			fold.messages += len(bursts[i])
		}
		folds = append(folds, fold)
	}
	for i, b := range bursts {
		if !hidden[i] {
			kept = append(kept, b...)
		}
	}
	return kept, folds
}

// prompt is when a message was read, or sent if it was read late or never.
func prompt(m *Message) int64 {
	if m.ReadNs-m.SentNs > burstGapNs || m.ReadEvent == 0 {
		return m.SentNs
	}
	return m.ReadNs
}

// sizeClass is by how many bytes messages may differ that count as alike: heartbeats have counters in them.
const sizeClass = 32

// foldsBetween says what is folded between two times.
func foldsBetween(folds []foldedRounds, fromNs, toNs int64) string {
	rounds, messages := 0, 0
	for _, f := range folds {
		if f.fromNs >= fromNs && f.fromNs < toNs {
			rounds, messages = rounds+f.rounds, messages+f.messages
		}
	}
	if rounds == 0 {
		return ""
	}
	return fmt.Sprintf(": the same %s more (%s)", plural.Count(rounds, "time"), plural.Count(messages, "message"))
}

func between(times []int64, fromNs, toNs int64) int {
	first, _ := slices.BinarySearch(times, fromNs)
	last, _ := slices.BinarySearch(times, toNs)
	return last - first
}

// instants are all points of time of the near view, in order.
func (p *PageOf) instants(f *focus, messages []Message, ops []history.Operation) []instant {
	var list []instant
	for _, m := range messages {
		list = append(list, instant{ns: m.SentNs, order: m.SentEvent})
		if m.ReadEvent > 0 {
			list = append(list, instant{ns: m.ReadNs, order: m.ReadEvent})
		}
	}
	for _, op := range ops {
		if !f.conflict[op.Call] {
			continue
		}
		list = append(list, instant{op.CallTimeNs, op.Call, op.Client + " invokes " + requestText(&op), "op-note", ""})
		if op.Return != history.Pending {
			list = append(list, instant{op.ReturnTimeNs, op.Return, op.Client + ": " + resultText(&op), "op-note", ""})
		}
	}
	some := nearest[record.LogLine]{limit: closeLines}
	for i, l := range p.Outcome.Log {
		if l.TimeNs >= f.fromNs && l.TimeNs <= f.toNs {
			some.add(l, uint64(i), f.distance(l.TimeNs))
		}
	}
	lines, _ := some.list()
	keep := nearest[record.LogLine]{limit: closeNotes}
	group, _ := foldLogs(lines)
	for i, l := range lines {
		if group[i] == 0 {
			keep.add(l, uint64(i), f.distance(l.TimeNs))
		}
	}
	lines, _ = keep.list()
	for _, l := range lines {
		list = append(list, instant{l.TimeNs, l.Event, l.Node + ": " + l.Text, "", l.Node})
	}
	injections, _ := injectionsIn(p.Outcome.Ledger.Injections, f.fromNs, f.toNs, pageInjections)
	for _, s := range injections {
		if s.StartNs >= f.fromNs {
			list = append(list, instant{s.StartNs, s.Event, fmt.Sprintf("%s %s begins", s.Kind, s.Target), "fault-note", ""})
		}
		if s.EndNs <= f.toNs {
			list = append(list, instant{s.EndNs, s.Event, fmt.Sprintf("%s %s ends", s.Kind, s.Target), "fault-note", ""})
		}
	}
	for _, c := range callsWithFaults(p.Outcome.DiskChanges, f) {
		text := fmt.Sprintf("%s: %s (%s)", c.Node, changeText(&c), strings.ReplaceAll(c.Fault, "_", " "))
		list = append(list, instant{c.TimeNs, c.Event, text, "fault-note", ""})
	}
	list = append(list, instant{f.atNs, math.MaxUint64, "violated: " + p.Verdict.Property, "violation-note", ""})
	slices.SortStableFunc(list, func(x, y instant) int {
		return cmp.Or(cmp.Compare(x.ns, y.ns), cmp.Compare(x.order, y.order))
	})
	return list
}

// stepOf is the height of a wait.
func stepOf(ns int64) float64 {
	return min(4+4*math.Log10(1+float64(ns)/50_000), 22)
}

// head is the head of an arrow.
func head(x1, y1, x2, y2 float64) string {
	const size = 6
	a := math.Atan2(y2-y1, x2-x1)
	p := func(turn float64) (float64, float64) {
		return x2 - size*math.Cos(a+turn), y2 - size*math.Sin(a+turn)
	}
	ax, ay := p(0.45)
	bx, by := p(-0.45)
	return fmt.Sprintf(`<path d="M%.1f %.1fL%.1f %.1fL%.1f %.1fz"/>`, x2, y2, ax, ay, bx, by)
}

func shortDuration(ns int64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.2f s", float64(ns)/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.1f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.0f µs", float64(ns)/1e3)
}

// Some lists names in a line, as many as most says, and how many more there are.
func Some(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
