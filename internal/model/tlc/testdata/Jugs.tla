---- MODULE Jugs ----
EXTENDS Naturals, TLC
VARIABLES big, small
vars == <<big, small>>
Min(a, b) == IF a < b THEN a ELSE b
Init == big = 0 /\ small = 0
Fill == big' = 5 /\ small' = small
FillSmall == small' = 3 /\ big' = big
Empty == big' = 0 /\ small' = small
EmptySmall == small' = 0 /\ big' = big
Over == /\ big' = Min(big + small, 5)
        /\ small' = small - (big' - big)
Back == /\ small' = Min(big + small, 3)
        /\ big' = big - (small' - small)
Next == Fill \/ FillSmall \/ Empty \/ EmptySmall \/ Over \/ Back
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
NotSolved == big # 4
Some == big + small > 0
Four == <>(big = 4)
Sound == big \in 0..5 /\ small \in 0..3
Grows == [][big' >= big]_vars
Begins == Some /\ [][Next]_vars
Once == big = 0 /\ Fill
Never == TLCGet("distinct") > 90
Always == [](big < 4)
Wrong == big < 3 \/ small.a = 1
====
