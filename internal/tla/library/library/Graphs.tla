---- MODULE Graphs ----
\* Graphs [node |-> N, edge |-> E] where E has pairs of nodes <<from, to>>.
EXTENDS Naturals, Sequences, FiniteSets, SequencesExt, Relation

LOCAL Pairs(G) == G.edge \cap (G.node \X G.node) \* what else is in G.edge joins nothing
LOCAL Known(n, G) == G.node # {} /\ (n \in G.node \/ Assert(FALSE, "that is no node of the graph"))
LOCAL RECURSIVE Reached(_, _)
LOCAL Reached(S, E) == LET T == S \cup {e[2] : e \in {f \in E : f[1] \in S}} IN IF T = S THEN S ELSE Reached(T, E)
LOCAL RECURSIVE Peeled(_, _)
LOCAL Peeled(N, E) == \* without the nodes that no edge within leads to, one after the other: a graph without cycles is peeled to nothing
  LET T == {n \in N : \E m \in N : <<m, n>> \in E} IN IF T = N THEN N ELSE Peeled(T, E)

IsDirectedGraph(G) == G = [node |-> G.node, edge |-> G.edge] /\ G.edge \subseteq G.node \X G.node
DirectedSubgraph(G) == {H \in [node : SUBSET G.node, edge : SUBSET G.edge] : IsDirectedGraph(H)}
Transpose(G) == [node |-> G.node, edge |-> {<<e[2], e[1]>> : e \in G.edge}]
IsUndirectedGraph(G) == IsDirectedGraph(G) /\ \A e \in G.edge : <<e[2], e[1]>> \in G.edge
UndirectedSubgraph(G) == {H \in DirectedSubgraph(G) : IsUndirectedGraph(H)}
Path(G) == {p \in Seq(G.node) : p # <<>> /\ \A i \in 1..Len(p) - 1 : <<p[i], p[i + 1]>> \in G.edge}
SimplePath(G) ==
  {p \in UNION {[1..n -> G.node] : n \in 1..Cardinality(G.node)} :
     /\ \A i \in 1..Len(p) - 1 : <<p[i], p[i + 1]>> \in G.edge
     /\ \A i, j \in 1..Len(p) : p[i] = p[j] => i = j}
AreConnectedIn(m, n, G) == m \in G.node /\ n \in Reached({m}, Pairs(G))
IsStronglyConnected(G) == \A m \in G.node : G.node \subseteq Reached({m}, Pairs(G))
ConnectionsIn(G) == [m, n \in G.node |-> AreConnectedIn(m, n, G)]
IsTreeWithRoot(G, r) ==
  /\ IsDirectedGraph(G)
  /\ r \in G.node
  /\ \A e \in G.edge : e[1] # r /\ \A f \in G.edge : e[1] = f[1] => e = f
  /\ \A n \in G.node : AreConnectedIn(n, r, G)
GraphUnion(G, H) == [node |-> G.node \cup H.node, edge |-> G.edge \cup H.edge]
IsBipartiteWithPartitions(G, U, V) ==
  /\ U \cap V = {}
  /\ G.node \subseteq U \cup V
  /\ \A e \in G.edge : \/ e[1] \in U /\ e[2] \in V
                       \/ e[1] \in V /\ e[2] \in U
HasCycle(G) == Peeled(G.node, G.edge) # {}
IsDag(G) == IsDirectedGraph(G) /\ ~HasCycle(G)
Successors(G, n) == {m \in G.node : <<n, m>> \in G.edge}
AllSuccessors(G, S) == UNION {Successors(G, n) : n \in S}
Predecessors(G, n) == {m \in G.node : <<m, n>> \in G.edge}
AllPredecessors(G, S) == UNION {Predecessors(G, n) : n \in S}
Descendants(G, n) == IF Known(n, G) THEN Reached(Successors(G, n), Pairs(G)) ELSE {}
Ancestors(G, n) == IF Known(n, G) THEN Reached(Predecessors(G, n), Pairs(Transpose(G))) ELSE {}
InDegree(G, n) == Cardinality(Predecessors(G, n))
OutDegree(G, n) == Cardinality(Successors(G, n))
Roots(G) == {n \in G.node : Predecessors(G, n) = {}}
Leaves(G) == {n \in G.node : Successors(G, n) = {}}
EmptyGraph == [node |-> {}, edge |-> {}]
Graphs(S) == [node : {S}, edge : SUBSET (S \X S)]
====
