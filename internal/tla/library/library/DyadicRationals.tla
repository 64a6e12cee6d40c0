---- MODULE DyadicRationals ----
\* Fractions [num, den] in lowest terms, whose denominator is a power of two.
LOCAL INSTANCE Integers
LOCAL INSTANCE Sequences
LOCAL INSTANCE TLC

LOCAL RECURSIVE Common(_, _)
LOCAL Common(n, d) == IF d = 0 THEN n ELSE Common(d, n % d) \* the greatest divisor of both (Euclid)
LOCAL Lowest(n, d) == LET c == Common(n, d) IN [num |-> n \div c, den |-> d \div c]

Zero == [num |-> 0, den |-> 1]
One == [num |-> 1, den |-> 1]
IsDyadicRational(r) == \E i \in 0..r.den : 2^i = r.den
Add(p, q) ==
  LET den == IF p.den >= q.den THEN p.den ELSE q.den \* one divides the other
  IN  IF p = Zero THEN q ELSE Lowest(p.num * (den \div p.den) + q.num * (den \div q.den), den)
Half(p) == Lowest(p.num, 2 * p.den)
PrettyPrint(p) == IF p \in {Zero, One} THEN ToString(p.num) ELSE ToString(p.num) \o "/" \o ToString(p.den)
====
