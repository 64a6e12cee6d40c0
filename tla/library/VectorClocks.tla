---- MODULE VectorClocks ----
\* Logs of events with vector clocks: functions from nodes to how many events of each were known. A node that a clock lacks has 0 there.
EXTENDS Naturals, Sequences, Functions, FiniteSets

LOCAL At(c, n) == IF n \in DOMAIN c THEN c[n] ELSE 0
LOCAL Before(c, d) == (\A n \in DOMAIN c : c[n] <= At(d, n)) /\ (\E n \in DOMAIN d : At(c, n) < d[n])

IsCausalOrder(log, clock(_)) == \A i \in 1..Len(log) : \A j \in 1..i - 1 : ~Before(clock(log[i]), clock(log[j])) /\ clock(log[i]) # clock(log[j])

\* The log in an order in which each event stands behind all that its clock knows of. node(e) is the event's own node in its clock.
CausalOrder(log, clock(_), node(_), domain(_)) ==
  LET RECURSIVE Ordered(_, _)
      Ordered(done, left) ==
        IF left = {} THEN done
        ELSE LET i == CHOOSE i \in left : \A j \in left : ~Before(clock(log[j]), clock(log[i]))
             IN  Ordered(Append(done, log[i]), left \ {i})
  IN  Ordered(<<>>, 1..Len(log))
====
