----------------------------- MODULE Elections -----------------------------
(* What the logs of Raft servers say of elections: which role a server takes, *)
(* in which term, and when it is down. Logs need not name each change of a    *)
(* term, so a server may be in a later one than its last line said.           *)
EXTENDS Naturals, FiniteSets

CONSTANT Nodes

VARIABLES
  role,  \* of each server: "down", "follower", "pre-candidate", "candidate" or "leader"
  term,  \* of each server, as its log said last
  voted, \* of each server, for whom it voted last, and in which term
  led    \* the leader of each term that had one: pairs
vars == <<role, term, voted, led>>

Init ==
  /\ role = [n \in Nodes |-> "down"]
  /\ term = [n \in Nodes |-> 0]
  /\ voted = [n \in Nodes |-> <<"", 0>>]
  /\ led = {}

Take(n, r, t) == role' = [role EXCEPT ![n] = r] /\ term' = [term EXCEPT ![n] = t]

Follow(n, t) == (role[n] # "down" => t >= term[n]) /\ Take(n, "follower", t) /\ UNCHANGED <<voted, led>>

Canvass(n, t) == t >= term[n] /\ Take(n, "pre-candidate", t) /\ UNCHANGED <<voted, led>>

Campaign(n, t) == t > term[n] /\ Take(n, "candidate", t) /\ UNCHANGED <<voted, led>>

\* A term has one leader.
Lead(n, t) ==
  /\ t >= term[n]
  /\ \A l \in led : l[1] = t => l[2] = n
  /\ Take(n, "leader", t)
  /\ led' = led \cup {<<t, n>>}
  /\ UNCHANGED voted

\* A server votes once in a term, also across crashes.
Vote(n, candidate, t) ==
  /\ voted[n][2] = t => voted[n][1] = candidate
  /\ voted' = [voted EXCEPT ![n] = <<candidate, t>>]
  /\ UNCHANGED <<role, term, led>>

\* A server that starts again may have lost a term that no other one has heard of.
Start(n, t) == Take(n, "follower", t) /\ UNCHANGED <<voted, led>>

\* The same, where the log has no term.
Load(n) == role' = [role EXCEPT ![n] = "follower"] /\ UNCHANGED <<term, voted, led>>

Crash(n) == role' = [role EXCEPT ![n] = "down"] /\ UNCHANGED <<term, voted, led>>

Next ==
  \E n \in Nodes :
    \/ Crash(n) \/ Load(n)
    \/ \E t \in 0..3 : Follow(n, t) \/ Canvass(n, t) \/ Campaign(n, t) \/ Lead(n, t) \/ Start(n, t)
    \/ \E t \in 0..3, c \in Nodes : Vote(n, c, t)

Spec == Init /\ [][Next]_vars

OneLeader == \A k, l \in led : k[1] = l[1] => k[2] = l[2]

\* Roles, the order of terms, and who voted in the latest one: terms that differ in their numbers alone are one state.
Rank(n) == Cardinality({term[m] : m \in {m \in Nodes : term[m] < term[n]}})
Latest(n) == \A m \in Nodes : voted[m][2] <= voted[n][2]
Order == [n \in Nodes |-> <<role[n], Rank(n), Latest(n)>>]

\* The same without the names of servers: how many are in each role and order.
Shape == LET of == [n \in Nodes |-> <<role[n], Rank(n)>>]
         IN {<<s, Cardinality({n \in Nodes : of[n] = s})>> : s \in {of[n] : n \in Nodes}}
=============================================================================
