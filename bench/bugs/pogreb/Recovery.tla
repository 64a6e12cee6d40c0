------------------------------ MODULE Recovery ------------------------------
(* What the log of a pogreb server says of its database: how it is opened, and *)
(* how its last incarnation ended, and in which phase.                         *)

VARIABLES
  phase,  \* "down", "moving" (files of the index away), "rebuilding" (the index), "open"
  ended   \* the phase in which the last incarnation ended, and what ended it
vars == <<phase, ended>>

Init == phase = "down" /\ ended = <<"none", "none">>

Ends(cause) == ended' = <<phase, cause>> /\ phase' = "down"

\* A start after a clean end logs nothing: where it is "down" the database may be open.
Move == phase = "down" /\ phase' = "moving" /\ UNCHANGED ended
Rebuild == phase = "moving" /\ phase' = "rebuilding" /\ UNCHANGED ended
Recover == phase = "rebuilding" /\ phase' = "open" /\ UNCHANGED ended
OpenFails == phase # "open" /\ Ends("open fails")
WriteFails == phase \in {"open", "down"} /\ Ends("write fails")
Crash == Ends("crash")

Next == Move \/ Rebuild \/ Recover \/ OpenFails \/ WriteFails \/ Crash
Spec == Init /\ [][Next]_vars
=============================================================================
