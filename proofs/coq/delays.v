(** * Tests whose results are delayed

    A delayed result is not there yet when the tests below it are ordered.  So with a delayed test an example orders at
    once all tests below it that the pruning keeps (Turney, "Cost-Sensitive Classification", 1995, section 2).  That is
    [orders], an inductive definition.  Which node decides on an order depends on the forest alone: the highest delayed
    test above a test, or the test itself, [decided_at].  So the program with delays is the program of program.v for
    other first uses, one for each node, and whatever is proved of that one holds: it is a closure, its matrix is
    totally unimodular, and flows certify its optimal prunings. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program integrality unimodularity.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Delays.

Variables (R : realFieldType) (I : instance R).

Local Notation F := (trees I).
Local Notation K := (units I).
Local Notation N := (examples I).
Local Notation p := (path_to F).

Variables
  (tests : nat -> nat -> bool)      (* the test of node h needs unit k *)
  (reaches : nat -> nat -> bool)    (* node h lies on the way of example i: i in S_h *)
  (waits : pred nat).               (* the result of the test of node h is delayed *)

(** ** What an example orders *)

Inductive orders (kept : pred nat) (i : nat) : nat -> Prop :=
| OnItsWay h : h \in nodes F -> kept h -> reaches h i -> orders kept i h
| BelowDelayed a h : orders kept i a -> waits a -> h \in nodes F -> a \in p h -> a <> h -> kept h -> orders kept i h.

(** ** The program *)

Definition above h : seq nat := [seq a <- p h | a != h].

Definition decided_at h : nat := head h [seq a <- above h | waits a].

Definition wants h k i : bool := [&& h \in internal_nodes F, tests h k & reaches (decided_at h) i].

(** The number t of [first_use] counts nodes; errors, prices and the cost of splits are those of I. *)
Definition in_rounds : instance R := {|
  trees := F; units := K; examples := N; error_examples := error_examples I;
  asks := size (nodes F);
  first_use := fun t k i => let h := nth 0%N (nodes F) t in if wants h k i then Some h else None;
  error := error I; price := price I; visits := visits I; split_price := split_price I
|}.

Record routed : Prop := Routed {
  distinct : uniq (nodes F);
  prices_nonnegative : forall k, (k < K)%N -> 0 <= price I k;
  reaches_upwards : forall h a i, h \in nodes F -> a \in p h -> reaches h i -> reaches a i
}.

Hypothesis routed_I : routed.
Local Notation uniq_nodes := (distinct routed_I).

Lemma in_rounds_well_formed : well_formed in_rounds.
Proof.
split=> [|t k i u _ _ _|]; [exact: uniq_nodes| |exact: prices_nonnegative routed_I].
by rewrite /= /wants; case: ifP => // /and3P[h_internal _ _] [<-].
Qed.

(** The path to a node on a path is the beginning of that path. *)
Lemma path_to_above q r : q ++ r \in root_paths F -> q = [::] \/ q \in root_paths F.
Proof.
elim/last_ind: r => [|r h IH]; first by rewrite cats0; right.
rewrite -rcons_cat => /root_paths_rcons[|/IH//].
by case: q {IH} => [_|//]; left.
Qed.

Lemma path_to_split h a : h \in nodes F -> a \in p h ->
  exists q r, [/\ p a = rcons q a & p h = rcons q a ++ r].
Proof.
move=> h_node a_h; have [h_path _] := path_toP uniq_nodes h_node.
have [q [r p_h]] : exists q r, p h = rcons q a ++ r by case/splitPr: a_h => q r; exists q, r; rewrite cat_rcons.
move: h_path; rewrite p_h => /path_to_above[|a_path]; first by case: q {p_h}.
by exists q, r; rewrite (path_to_prefix uniq_nodes a_path).
Qed.

Lemma aboveE h q : h \in nodes F -> p h = rcons q h -> above h = q.
Proof.
move=> h_node p_h; have [/root_paths_subseq/subseq_uniq/(_ uniq_nodes) h_uniq _] := path_toP uniq_nodes h_node.
move: h_uniq; rewrite /above p_h rcons_uniq => /andP[h_q _].
rewrite filter_rcons eqxx; apply/all_filterP/allP => a a_q.
by apply: contraNneq h_q => <-.
Qed.

Lemma above_above h a b : h \in nodes F -> a \in above h -> b \in above a -> b \in above h.
Proof.
rewrite mem_filter => h_node /andP[a_h a_path].
have [q [r [p_a p_h]]] := path_to_split h_node a_path.
have a_node : a \in nodes F by apply: mem_root_paths a_path => //; have [] := path_toP uniq_nodes h_node.
rewrite (aboveE a_node p_a) => b_q; have [s p_hs _] := path_toE uniq_nodes h_node.
rewrite (aboveE h_node p_hs); move: p_hs; rewrite p_h; case/lastP: r p_h => [|r g] p_h.
  by rewrite cats0 => /rcons_inj[<- _].
by rewrite -rcons_cat => /rcons_inj[<- _]; rewrite mem_cat mem_rcons inE b_q orbT.
Qed.

(** The highest delayed test above is on the way of an example if any of them is, or the test itself. *)
Lemma reaches_decided_at h i : h \in nodes F ->
  reaches (decided_at h) i = reaches h i || has (fun a => waits a && reaches a i) (above h).
Proof.
move=> h_node; rewrite /decided_at; set waiting := [seq a <- above h | waits a].
have in_above a : a \in waiting -> waits a /\ a \in above h by rewrite mem_filter => /andP[].
case def_waiting: waiting => [|a more] /=.
  suff -> : has (fun a => waits a && reaches a i) (above h) = false by rewrite orbF.
  apply/hasP => -[a a_above /andP[a_waits _]].
  by have : a \in waiting by [rewrite mem_filter a_waits]; rewrite def_waiting.
have [a_waits a_above] : waits a /\ a \in above h by apply: in_above; rewrite def_waiting mem_head.
apply/idP/orP => [a_i|]; first by right; apply/hasP; exists a; rewrite ?a_waits.
have up b : b \in p h -> reaches b i -> a \in p b -> reaches a i.
  move=> b_h b_i a_b; apply: reaches_upwards routed_I _ _ _ _ a_b b_i.
  by apply: mem_root_paths b_h => //; have [] := path_toP uniq_nodes h_node.
case=> [h_i|/hasP[b b_above /andP[b_waits b_i]]].
  apply: (up h _ h_i); last by move: a_above; rewrite mem_filter => /andP[].
  by have [q -> _] := path_toE uniq_nodes h_node; rewrite mem_rcons mem_head.
have b_path : b \in p h by move: b_above; rewrite mem_filter => /andP[].
apply: (up b b_path b_i); have [q [r [p_b p_h]]] := path_to_split h_node b_path.
have b_h : b != h by move: b_above; rewrite mem_filter => /andP[].
have first_in_p_b : waiting = [seq c <- rcons q b | (c != h) && waits c] ++ [seq c <- r | (c != h) && waits c].
  rewrite /waiting /above -filter_predI p_h filter_cat.
  by congr (_ ++ _); apply: eq_filter => c /=; rewrite andbC.
have : b \in [seq c <- rcons q b | (c != h) && waits c] by rewrite mem_filter b_h b_waits mem_rcons mem_head.
move: def_waiting; rewrite first_in_p_b p_b; case def_first: [seq c <- rcons q b | _] => [|c s] //= [<- _] _.
have : c \in [seq c <- rcons q b | (c != h) && waits c] by rewrite def_first mem_head.
by rewrite mem_filter => /andP[].
Qed.

(** An order is decided on at one node, whatever the pruning. *)
Theorem ordersP kept i h : pruning I kept -> h \in nodes F ->
  orders kept i h <-> kept h /\ reaches (decided_at h) i.
Proof.
move=> [_ kept_up] h_node; split.
  move=> ordered; elim: ordered => {h h_node} [h h_node h_kept h_i|a h _ [a_kept a_decided] a_waits h_node a_h a_neq h_kept].
    by rewrite reaches_decided_at // h_i.
  split=> //; have a_above : a \in above h by rewrite mem_filter a_h andbT; apply/eqP.
  have a_node : a \in nodes F by apply: mem_root_paths a_h => //; have [] := path_toP uniq_nodes h_node.
  move: a_decided; rewrite !reaches_decided_at // => /orP[a_i|/hasP[b b_a b_waits]]; apply/orP; right; apply/hasP.
    by exists a; rewrite ?a_waits.
  by exists b; rewrite ?(above_above h_node a_above).
case=> h_kept; rewrite reaches_decided_at // => /orP[h_i|/hasP[a]]; first exact: OnItsWay.
rewrite mem_filter => /andP[a_h a_path] /andP[a_waits a_i].
have a_node : a \in nodes F by apply: mem_root_paths a_path => //; have [] := path_toP uniq_nodes h_node.
have a_kept := allP (kept_up h h_node h_kept) a a_path.
by apply: BelowDelayed (OnItsWay a_node a_kept a_i) a_waits h_node a_path _ h_kept; apply/eqP.
Qed.

(** What is paid in the program is what is ordered. *)
Theorem acquired_in_rounds kept k i : pruning I kept ->
  reflect (exists2 h, orders kept i h & tests h k) (acquired in_rounds kept k i).
Proof.
move=> kept_pruning; apply: (iffP existsP) => [[t]|[h h_ordered h_k]].
  rewrite /= /wants; case: ifP => // /and3P[]; rewrite mem_filter => /andP[_ h_node] h_k h_i h_kept.
  by exists (nth 0%N (nodes F) t) => //; apply/ordersP.
have h_node : h \in nodes F by case: h_ordered.
have [h_kept h_i] := (ordersP i kept_pruning h_node).1 h_ordered.
have t_small : (index h (nodes F) < size (nodes F))%N by rewrite index_mem.
exists (Ordinal t_small); rewrite /= nth_index // /wants h_k h_i mem_filter h_node !andbT.
by case: ifP => // /negbFE h_leaf; case: kept_pruning => /(_ h h_leaf); rewrite h_kept.
Qed.

(** Without delayed tests examples order what lies on their way. *)
Theorem orders_immediate kept i h : waits =1 pred0 -> orders kept i h -> kept h /\ reaches h i.
Proof. by move=> none; case=> // a ? _; rewrite none. Qed.

(** ** So all that is known of the program holds with delays *)

Theorem delayed_integrality (lambda : R) s : 0 <= lambda -> feasible in_rounds s ->
  exists2 kept, pruning I kept & objective in_rounds lambda (point_of in_rounds kept) <= objective in_rounds lambda s.
Proof.
move=> lambda_ge0 /(pruning_no_worse in_rounds_well_formed lambda_ge0)[kept [no_leaf upwards] no_worse].
by exists kept.
Qed.

Theorem delayed_matrix_totally_unimodular : totally_unimodular (constraint_matrix in_rounds).
Proof. exact: constraint_matrix_totally_unimodular in_rounds_well_formed. Qed.

End Delays.

Print Assumptions ordersP.
Print Assumptions acquired_in_rounds.
Print Assumptions delayed_integrality.
Print Assumptions delayed_matrix_totally_unimodular.
