---- MODULE DyadicRationals ----
\* Fractions [num, den] in lowest terms, whose denominator is a power of two.
LOCAL INSTANCE Integers
LOCAL INSTANCE Sequences
LOCAL INSTANCE TLC

RECURSIVE Lowest(_, _)
LOCAL Lowest(n, d) == \* without the factors 2 that both have
  IF n = 0 THEN [num |-> 0, den |-> 1]
  ELSE IF n % 2 = 0 /\ d % 2 = 0 THEN Lowest(n \div 2, d \div 2)
  ELSE [num |-> n, den |-> d]

Zero == [num |-> 0, den |-> 1]
One == [num |-> 1, den |-> 1]
IsDyadicRational(r) == \E i \in 0..r.den : 2^i = r.den
Add(p, q) ==
  LET den == IF p.den >= q.den THEN p.den ELSE q.den \* one divides the other
  IN  Lowest(p.num * (den \div p.den) + q.num * (den \div q.den), den)
Half(p) == Lowest(p.num, 2 * p.den)
PrettyPrint(p) == IF p.den = 1 THEN ToString(p.num) ELSE ToString(p.num) \o "/" \o ToString(p.den)
====
