package explore

// maxUnready bounds the servers that were never ready and are kept of a run.
const maxUnready = 16

// dead reports whether a run without faults shows that no other can show anything: a server was never ready, and no operation succeeded.
func (s *Summary) dead() bool {
	return len(s.NeverReady) > 0 && s.Operations.Ok == 0 && len(Violated(s.Verdicts)) == 0
}
