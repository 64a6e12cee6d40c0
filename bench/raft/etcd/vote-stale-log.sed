s/if canVote && r.raftLog.isUpToDate(m.Index, m.LogTerm) {/if canVote {/
