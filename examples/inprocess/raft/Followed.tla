------------------------------- MODULE Followed -------------------------------
(* What the servers of this folder do, as steps of etcd's own specification of its library. A message is a record, as that specification has  *)
(* it; an action below takes the message that a server has sent, or was given, and is a step of etcdraft that sends it, or handles it.        *)
EXTENDS etcdraft

(* Who learns at first, and does not vote. *)
CONSTANT InitLearner

(* Members begin with a log of one entry, which says who they are. Others know nothing. *)
Members == [term |-> 1, type |-> ConfigEntry, value |-> [newconf |-> InitServer, learners |-> InitLearner]]
First(i, member, other) == IF i \in InitServer \union InitLearner THEN member ELSE other
FollowedLogVars ==
    /\ log = [i \in Server |-> First(i, <<Members>>, <<>>)]
    /\ commitIndex = [i \in Server |-> First(i, 1, 0)]
FollowedConfigVars ==
    /\ config = [i \in Server |-> [jointConfig |-> First(i, <<InitServer, {}>>, <<{}, {}>>), learners |-> First(i, InitLearner, {})]]
    /\ reconfigCount = 0

(* What Trusted.cfg has in their places: the network is not part of the state. It is the world's own, which delivers what was sent and nothing  *)
(* else. What remains of it is, within a step, the message that is sent, and whether one is taken.                                             *)
NoMessage == <<>>
TrustedInit == messages = FALSE /\ pendingMessages = NoMessage
TrustedWith(m, others) == m
TrustedWithout(m, others) == TRUE
TrustedSendPending(i) == UNCHANGED messageVars
TrustedClearPending(i) == NoMessage
TrustedArrives(m) == TRUE

Arrives(m) == m \in DOMAIN messages
Sent(m) == pendingMessages' = WithMessage(m, pendingMessages)
Taken(m) == messages' = WithoutMessage(m, messages)

SendVote(m) == RequestVote(m.msource, m.mdest) /\ Sent(m)
SendAppend(m) == AppendEntries(m.msource, m.mdest, <<m.mprevLogIndex + 1, m.mprevLogIndex + 1 + Len(m.mentries)>>) /\ Sent(m)
SendHeartbeat(m) == Heartbeat(m.msource, m.mdest) /\ Sent(m)
SendSnap(m) == SendSnapshot(m.msource, m.mdest, Len(m.mentries)) /\ Sent(m)
Acknowledge(m) == AppendEntriesToSelf(m.msource) /\ Sent(m)

(* A message is handled in several steps: some only change what the receiver knows or has, and the last one takes the message and answers. *)
Consider(m) == Arrives(m) /\ Receive(m) /\ UNCHANGED messages
Handle(m) == Arrives(m) /\ Receive(m) /\ Taken(m) /\ UNCHANGED pendingMessages
Answer(m, reply) == Arrives(m) /\ Receive(m) /\ Taken(m) /\ Sent(reply)

(* Who knows a leader of the term votes for nobody else, though it has not voted in that term. etcdraft has it vote.                          *)
Refuse(m, reply) ==
    LET i == m.mdest
    IN  /\ Arrives(m)
        /\ m.mtype = RequestVoteRequest
        /\ m.mterm = currentTerm[i]
        /\ state[i] = Follower
        /\ votedFor[i] = Nil
        /\ Reply(reply, m)
        /\ reply = [mtype |-> RequestVoteResponse, mterm |-> m.mterm, mvoteGranted |-> FALSE, msource |-> i, mdest |-> m.msource]
        /\ UNCHANGED <<serverVars, candidateVars, leaderVars, logVars, configVars, durableState>>

(* etcdraft has a server refuse each snapshot once it has committed anything; the library takes one that goes further than what it has committed. *)
Restore(m, reply) ==
    LET i == m.mdest
        last == Len(m.mentries)
    IN  /\ Arrives(m)
        /\ m.msubtype = "snapshot"
        /\ m.mterm = currentTerm[i]
        /\ state[i] = Follower
        /\ last > commitIndex[i]
        /\ log' = [log EXCEPT ![i] = m.mentries]
        /\ commitIndex' = [commitIndex EXCEPT ![i] = last]
        /\ Reply(reply, m)
        /\ reply = [mtype |-> AppendEntriesResponse, msubtype |-> "snapshot", mterm |-> m.mterm, msuccess |-> TRUE, mmatchIndex |-> last, msource |-> i, mdest |-> m.msource]
        /\ UNCHANGED <<serverVars, candidateVars, leaderVars, configVars, durableState>>

(* One whose entry it has: then it only commits. *)
FastForward(m, reply) ==
    LET i == m.mdest
        last == Len(m.mentries)
    IN  /\ Arrives(m)
        /\ m.msubtype = "snapshot"
        /\ m.mterm = currentTerm[i]
        /\ state[i] = Follower
        /\ last > commitIndex[i]
        /\ last <= Len(log[i]) /\ log[i][last].term = m.mentries[last].term
        /\ commitIndex' = [commitIndex EXCEPT ![i] = last]
        /\ Reply(reply, m)
        /\ reply = [mtype |-> AppendEntriesResponse, msubtype |-> "snapshot", mterm |-> m.mterm, msuccess |-> TRUE, mmatchIndex |-> last, msource |-> i, mdest |-> m.msource]
        /\ UNCHANGED <<serverVars, candidateVars, leaderVars, log, configVars, durableState>>

(* A change that etcdraft has not: one of a server that votes to one that learns, and one that changes nothing. *)
Change(i, conf) ==
    /\ state[i] = Leader
    /\ ~IsJointConfig(i)
    /\ pendingConfChangeIndex[i] = 0
    /\ conf.newconf \subseteq GetConfig(i)
    /\ Cardinality(GetConfig(i) \ conf.newconf) <= 1
    /\ Replicate(i, conf, ConfigEntry)
    /\ pendingConfChangeIndex' = [pendingConfChangeIndex EXCEPT ![i] = Len(log'[i])]
    /\ UNCHANGED <<messageVars, serverVars, candidateVars, matchIndex, commitIndex, configVars, durableState>>

(* ApplySimpleConfChange, but for one thing: a leader knows nothing of servers that come in, even if they were members before. A    *)
(* server stores a configuration as soon as it has it.                                                                                        *)
ApplyChange(i, comes) ==
    /\ ~IsJointConfig(i)
    /\ LET k == SelectLastInSubSeq(log[i], 1, commitIndex[i], LAMBDA x: x.type = ConfigEntry)
       IN  /\ k > 0
           /\ config' = ApplyConfigUpdate(i, k)
           /\ IF state[i] = Leader /\ pendingConfChangeIndex[i] >= k
                THEN /\ reconfigCount' = reconfigCount + 1
                     /\ pendingConfChangeIndex' = [pendingConfChangeIndex EXCEPT ![i] = 0]
                ELSE UNCHANGED <<reconfigCount, pendingConfChangeIndex>>
    /\ matchIndex' = [matchIndex EXCEPT ![i] = [j \in Server |-> IF j \in comes THEN 0 ELSE @[j]]]
    /\ durableState' = [durableState EXCEPT ![i].config = config'[i]]
    /\ UNCHANGED <<messageVars, serverVars, candidateVars, logVars>>

(* A new leader waits for no change that it has proposed in an earlier term: etcdraft forgets to forget it. *)
FollowedBecomeLeader(i) ==
    /\ state[i] = Candidate
    /\ votesGranted[i] \in Quorum(GetConfig(i))
    /\ state' = [state EXCEPT ![i] = Leader]
    /\ matchIndex' = [matchIndex EXCEPT ![i] = [j \in Server |-> IF j = i THEN Len(log[i]) ELSE 0]]
    /\ pendingConfChangeIndex' = [pendingConfChangeIndex EXCEPT ![i] = 0]
    /\ UNCHANGED <<messageVars, currentTerm, votedFor, candidateVars, logVars, configVars, durableState>>

(* Answers to reads carry a term, too. *)
LearnTerm(i, t) ==
    /\ t > currentTerm[i]
    /\ \E j \in Server : currentTerm[j] >= t
    /\ BecomeFollowerOfTerm(i, t)
    /\ UNCHANGED <<messageVars, candidateVars, leaderVars, logVars, configVars, durableState>>

(* What the network brings twice shows when it comes again. *)
Duplicate(m) == messages' = WithMessage(m, messages) /\ UNCHANGED <<pendingMessages, serverVars, candidateVars, leaderVars, logVars, configVars, durableState>>
TrustedDuplicate(m) == UNCHANGED vars

Lose(m) == Arrives(m) /\ DropMessage(m)

Commit(i, index) == AdvanceCommitIndex(i) /\ commitIndex'[i] = index
Propose(i, v) == ClientRequest(i, v)

UnderWay == BagCardinality(messages)

(* What a server shows of itself. *)
Shown(i) == <<currentTerm[i], state[i], votedFor[i], Len(log[i]), LastTerm(log[i]), commitIndex[i]>>

(* What guides a search, from coarse to raw. Terms are told by their order alone, and entries by theirs. *)
Rank(t) == Cardinality({currentTerm[i] : i \in {j \in Server : currentTerm[j] < t}})
Coarse == [i \in Server |-> <<state[i], Rank(currentTerm[i]), Len(log[i]) > commitIndex[i]>>]
Middle == [i \in Server |-> <<state[i], Rank(currentTerm[i]), votedFor[i], votesGranted[i], commitIndex[i],
                              [k \in DOMAIN log[i] |-> <<Rank(log[i][k].term), log[i][k].type>>], durableState[i].log, matchIndex[i]>>]
Raw == vars
===============================================================================
