// Package sweep plans the sweep of a run: at which of its moments a node crashes or loses its power, once, or a second time while it
// recovers. It is pure; package sweeping makes the runs.
//
// All runs of a sweep share one Spec, so that they share snapshots, and differ by edits of their tapes. The Spec has a few rules for each
// node, which inject nothing unless an edit says so. Beside each stands a scale: a rule that draws at the same calls, and whose condition
// is never true. Its draws tell at which time each draw of the rules is made, and so which edit strikes at a moment that was recorded.
package sweep
