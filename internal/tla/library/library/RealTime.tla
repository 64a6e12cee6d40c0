---- MODULE RealTime ----
\* Real time as a variable (Lamport, Specifying Systems, section 9.4). Steps of now have infinitely many successors: a model gives its own.
EXTENDS Reals
VARIABLE now

\* A step of A happens within E, and not before D, of being enabled without one.
RTBound(A, v, D, E) ==
  LET Passed(t) == t' = IF <<A>>_v \/ ~(ENABLED <<A>>_v)' THEN 0 ELSE t + (now' - now)
      Timer(t) == t = 0 /\ [][Passed(t)]_<<t, v, now>>
      Latest(t) == [](t <= E)
      Earliest(t) == [][A => t >= D]_v
  IN  \EE t : Timer(t) /\ Latest(t) /\ Earliest(t)

\* now is a real number that grows without bound, and v stands still meanwhile.
RTnow(v) ==
  LET Ticks == now' \in {r \in Real : r > now} /\ UNCHANGED v
  IN  /\ now \in Real
      /\ [][Ticks]_now
      /\ \A r \in Real : WF_now(Ticks /\ now' > r)
====
