package main

import (
	"strconv"
	"strings"
)

// status is what a server says of itself (INFO replication). The zero status is that of a server that did not answer.
type status struct {
	role string // master, slave
	// lineage names a history of writes (master_replid): offsets of different ones say nothing of each other.
	lineage string
	offset  int64
	master  string // of a replica
}

func parseStatus(info string) status {
	fields := map[string]string{}
	for line := range strings.SplitSeq(info, "\r\n") {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[key] = value
		}
	}
	s := status{role: fields["role"], lineage: fields["master_replid"], master: fields["master_host"]}
	offset := fields["slave_repl_offset"]
	if s.role == "master" {
		offset = fields["master_repl_offset"]
	}
	s.offset, _ = strconv.ParseInt(offset, 10, 64)
	return s
}

// choose says which replica shall follow a master that is gone, or "" if none may: servers are asked in the order of names.
//
// A write is acknowledged when the master and one replica have it. So of two replicas of the master's lineage the one that is
// further has all that was acknowledged; and where one of them does not answer, or has another history by now, it is not known which one has all.
//
// With first it is the planted mistake: any replica that answers will do.
func choose(names []string, replicas map[string]status, lineage string, first bool) string {
	best := ""
	for _, n := range names {
		s := replicas[n]
		switch {
		case first && s.role == "slave":
			return n
		case first:
		case s.role != "slave" || s.lineage != lineage:
			return ""
		case best == "" || s.offset > replicas[best].offset:
			best = n
		}
	}
	return best
}
