---- MODULE VectorClocks ----
\* Logs of events with vector clocks: functions from nodes to how many events of each were known. A node that a clock lacks has 0 there.
EXTENDS Naturals, Sequences, SequencesExt, Functions, FiniteSets, TLC

LOCAL At(c, n) == IF n \in DOMAIN c THEN c[n] ELSE 0
LOCAL Before(c, d) == (\A n \in DOMAIN c : c[n] <= At(d, n)) /\ (\E n \in DOMAIN d : At(c, n) < d[n])

IsCausalOrder(log, clock(_)) == \A i \in 1..Len(log) : \A j \in 1..i - 1 : ~Before(clock(log[i]), clock(log[j])) /\ clock(log[i]) # clock(log[j])

\* The log in an order in which each event stands behind all that its clock knows of. node(e) is the event's own node in its clock. As in TLC, the nodes take turns:
\* in each round a node gives its next event, unless that knows of one which was not given yet.
CausalOrder(log, clock(_), node(_), domain(_)) ==
  LET nodes == {node(log[i]) : i \in 1..Len(log)}
      turns == SetToSeq(nodes)
      of == [n \in nodes |-> LET Own(e) == node(e) = n
                                 Sooner(e, f) == clock(e)[n] < clock(f)[n]
                             IN  SortSeq(SelectSeq(log, Own), Sooner)]
      Waits(e, next) == \E n \in (domain(clock(e)) \cap nodes) \ {node(e)} : next[n] <= Len(of[n]) /\ clock(of[n][next[n]])[n] <= clock(e)[n]
      Turn(given, n) == LET k == given.next[n]
                        IN  IF k > Len(of[n]) \/ Waits(of[n][k], given.next) THEN given
                            ELSE [next |-> [given.next EXCEPT ![n] = @ + 1], round |-> Append(given.round, of[n][k])]
      RECURSIVE Ordered(_, _)
      Ordered(done, next) ==
        IF Len(done) = Len(log) THEN done
        ELSE LET given == FoldLeft(Turn, [next |-> next, round |-> <<>>], turns)
             IN  IF given.round = <<>> THEN Assert(FALSE, "CausalOrder: there is no causal order, as some events know of each other by their clocks")
                 ELSE Ordered(done \o given.round, given.next)
  IN  Ordered(<<>>, [n \in nodes |-> 1])
====
