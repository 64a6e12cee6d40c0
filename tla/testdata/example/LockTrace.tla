---- MODULE LockTrace ----
\* The behaviours of Lock that a log records: one action a line.
EXTENDS Lock, Json, Sequences
VARIABLE line
Log == ndJsonDeserialize("lock.ndjson")
TraceInit == Init /\ line = 1
TraceNext == /\ line <= Len(Log)
             /\ line' = line + 1
             /\ LET e == Log[line] IN
                \/ e.action = "see" /\ See(e.process)
                \/ e.action = "take" /\ Take(e.process)
                \/ e.action = "release" /\ Release(e.process)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, line>>
====
