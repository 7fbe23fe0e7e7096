(** * Strong duality: every optimal pruning has a flow that proves it optimal

    The converse of certificate.v.  The prunings are the cuts of finite capacity in the network of the closure form,
    so a maximum flow (maxflow.v) is as large as the least of them. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program integrality certificate maxflow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Duality.

Variables (R : realFieldType) (I : instance R).

Local Notation F := (trees I).
Local Notation T := (size F).
Local Notation J := (asks I).
Local Notation K := (units I).
Local Notation N := (examples I).
Local Notation internal := (internal_nodes F).
Local Notation children := (children F).
Local Notation gain := (gain I).

Hypothesis well_formed_I : well_formed I.
Hypothesis visits_divide_I : visits_divide I.
Local Notation distinct := (distinct_nodes well_formed_I).

Lemma edge_internal a c : (a, c) \in edges F -> a \in internal.
Proof. by move=> edge; rewrite mem_filter (edge_above_leaf distinct edge) (edge_nodes edge).1. Qed.

Lemma uniq_ends : uniq (roots F ++ [seq e.2 | e <- edges F]).
Proof. by rewrite -(perm_uniq (perm_nodes F)) distinct. Qed.

Lemma no_edge_to_root a r : r \in roots F -> (a, r) \notin edges F.
Proof.
move=> r_root; apply/negP=> edge; have := uniq_ends; rewrite cat_uniq => /and3P[_ /hasPn apart _].
by have := apart r (map_f snd edge); rewrite /= r_root.
Qed.

Lemma one_parent a b c : (a, c) \in edges F -> (b, c) \in edges F -> a = b.
Proof.
have := uniq_ends; rewrite cat_uniq => /and3P[_ _ ends_uniq] a_c b_c.
have eq_end : (a, c).2 = (b, c).2 by [].
have [] : (a, c) = (b, c); last by [].
rewrite -(nth_index (0, 0)%N a_c) -(nth_index (0, 0)%N b_c); congr nth; apply/eqP.
by rewrite -(nth_uniq 0%N _ _ ends_uniq) ?size_map ?index_mem // !(nth_map (0, 0)%N) ?index_mem ?nth_index.
Qed.

Lemma mem_children h c : (c \in children h) = ((h, c) \in edges F).
Proof.
apply/mapP/idP => [[[a c'] + ->]|edge]; first by rewrite mem_filter /= => /andP[/eqP->].
by exists (h, c); rewrite // mem_filter eqxx.
Qed.

Lemma children_uniq h : uniq (children h).
Proof.
have := uniq_ends; rewrite cat_uniq => /and3P[_ _ ends_uniq].
by rewrite (subseq_uniq _ ends_uniq) // map_subseq // filter_subseq.
Qed.

(** ** The network *)

Definition largest := \max_(h <- nodes F) h.
Definition vertex := ('I_largest.+1 + 'I_K * 'I_N + bool)%type.
Definition source : vertex := inr true.
Definition sink : vertex := inr false.
Definition node_vertex (h : nat) : vertex := inl (inl (inord h)).

Variables p q : R.
Hypothesis p_ge0 : 0 <= p.
Hypothesis q_ge0 : 0 <= q.
Hypothesis splits_ge0 : forall h, h \in internal -> 0 <= split_price I * visits I h.

Definition unlimited : R := 1 + source_capacity I q.
Definition split_limit h : R := p * (split_price I * visits I h).

Definition capacity (e : vertex * vertex) : R :=
  match e with
  | (inr true, inl (inl h)) => if (val h \in internal) && (0 < gain h) then q * gain h else 0
  | (inl (inl h), inr false) =>
    if val h \in internal then (if gain h < 0 then q * `|gain h| else 0) + split_limit h else 0
  | (inl (inl c), inl (inl h)) => if ((val h, val c) \in edges F) && (val c \in internal) then unlimited else 0
  | (inl (inl h), inl (inr (k, i))) => if [exists t : 'I_J, first_use I t k i == Some (val h)] then unlimited else 0
  | (inl (inr (k, i)), inr false) => p * price I k
  | _ => 0
  end.

Lemma node_small h : h \in nodes F -> (h < largest.+1)%N.
Proof. by move=> h_node; rewrite ltnS /largest (big_rem h h_node) leq_maxl. Qed.

Lemma inordE h : h \in nodes F -> val (inord h : 'I_largest.+1) = h.
Proof. by move/node_small/inordK. Qed.

Lemma sum_inord (r : seq nat) (g : 'I_largest.+1 -> R) : uniq r -> {subset r <= nodes F} ->
  \sum_(j | val j \in r) g j = \sum_(h <- r) g (inord h).
Proof.
move=> r_uniq r_nodes; rewrite -(big_map (@inord largest) xpredT g) big_uniq /=; last first.
  by rewrite map_inj_in_uniq // => a b /r_nodes/inordE {2}<- /r_nodes/inordE {2}<- ->.
apply: eq_bigl => j; apply/idP/mapP => [j_r|[h h_r ->]]; first by exists (val j); rewrite ?inord_val.
by rewrite inordE ?r_nodes.
Qed.

Lemma sum_val (r : seq nat) (g : nat -> R) : uniq r -> {subset r <= nodes F} ->
  \sum_(h <- r) g h = \sum_(j : 'I_largest.+1 | val j \in r) g (val j).
Proof.
by move=> r_uniq r_nodes; rewrite sum_inord //; apply: eq_big_seq => h /r_nodes/inordE->.
Qed.

Lemma internal_nodes_uniq : uniq internal. Proof. by rewrite filter_uniq ?distinct. Qed.
Lemma internal_sub : {subset internal <= nodes F}. Proof. by move=> h; apply: internal_node. Qed.

Lemma sum_vertices (g : vertex -> R) :
  \sum_v g v = \sum_j g (inl (inl j)) + \sum_ki g (inl (inr ki)) + (g source + g sink).
Proof. by rewrite big_sumType big_sumType big_bool. Qed.

Lemma unlimited_gt0 : 0 < unlimited.
Proof.
rewrite ltr_paddr ?ltr01 // sumr_ge0 // => h _; case: ifP => // gain_pos.
by rewrite mulr_ge0 // ltW.
Qed.

Lemma split_limit_ge0 h : h \in internal -> 0 <= split_limit h.
Proof. by move=> h_internal; rewrite mulr_ge0 ?splits_ge0. Qed.

Lemma capacity_ge0 : nonneg capacity.
Proof.
case=> [[[c|[k i]]|[]] [[h|[k' i']]|[]]] //=; do ?[by case: ifP => // _; exact/ltW/unlimited_gt0].
- case: ifP => // c_internal; rewrite addr_ge0 ?split_limit_ge0 //.
  by case: ifP => // _; rewrite mulr_ge0.
- by rewrite mulr_ge0 // (price_nonnegative well_formed_I).
by case: ifP => // /andP[_ gain_pos]; rewrite mulr_ge0 // ltW.
Qed.

(** ** Its cuts are prunings *)

Section Cuts.

Variable kept : pred nat.
Hypothesis kept_pruning : pruning I kept.
Hypothesis kept_least : forall kept', pruning I kept' -> cut_capacity I p q kept <= cut_capacity I p q kept'.

Lemma least_le_source : cut_capacity I p q kept <= source_capacity I q.
Proof.
have none : pruning I pred0 by [].
apply: le_trans (kept_least none) _; rewrite /cut_capacity /= [X in _ + X]big1 ?addr0 // => k _.
rewrite big_pred0 // => i; apply/existsP => -[t].
by case: first_use.
Qed.

Lemma cuts_are_large : large_cuts source sink (cut_capacity I p q kept) capacity.
Proof.
move=> S /andP[source_S sink_S].
have [/existsP[e /andP[e_S e_large]]|none] := boolP [exists e, leaves_set S e && (unlimited <= capacity e)].
  apply: le_trans least_le_source (le_trans _ (_ : capacity e <= _)).
    by apply: le_trans e_large; rewrite ler_addr ler01.
  rewrite /cut (bigD1 e) //= e_S mul1r ler_addl sumr_ge0 // => e' _.
  by rewrite mulr_ge0 ?ler0n ?capacity_ge0.
have inside a b : unlimited <= capacity (a, b) -> a \in S -> b \in S.
  move=> ab_large a_S; apply: contraR none => b_S; apply/existsP; exists (a, b).
  by rewrite /leaves_set /= a_S b_S.
pose in_S h := (h \in internal) && (node_vertex h \in S).
have in_S_pruning : pruning I in_S.
  apply: pruning_of_edges => // [h h_leaf|a c edge /andP[c_internal c_S]]; first by rewrite /in_S mem_filter h_leaf.
  have [a_node c_node] := edge_nodes edge; rewrite /in_S (edge_internal edge) /=.
  by apply: inside c_S; rewrite /= !inordE // edge c_internal.
apply: le_trans (kept_least in_S_pruning) _.
have -> : cut capacity S = \sum_u \sum_v (leaves_set S (u, v))%:R * capacity (u, v).
  by rewrite pair_bigA; apply: eq_bigr => -[].
have term_ge0 u v : 0 <= (leaves_set S (u, v))%:R * capacity (u, v) by rewrite mulr_ge0 ?ler0n ?capacity_ge0.
have one u v : (leaves_set S (u, v))%:R * capacity (u, v) <= \sum_v' (leaves_set S (u, v'))%:R * capacity (u, v').
  by rewrite (bigD1 v) //= ler_addl; apply: sumr_ge0 => v' _; apply: term_ge0.
rewrite sum_vertices addrAC; apply: ler_add; last first.
  rewrite pair_big_dep /= big_mkcond ler_sum // => -[k i] _ /=; apply: le_trans (one _ sink); case: ifP => // used.
  rewrite /leaves_set /= sink_S andbT; suff -> : inl (inr (k, i)) \in S by rewrite mul1r.
  case/existsP: used => t; case use: first_use => [u|//] /andP[u_internal u_S]; apply: inside u_S => /=.
  by rewrite inordE ?internal_sub //; case: existsP => // -[]; exists t; rewrite use.
apply: (@le_trans _ _ (\sum_j (leaves_set S (inl (inl j), sink))%:R * capacity (inl (inl j), sink)
    + \sum_j (leaves_set S (source, inl (inl j)))%:R * capacity (source, inl (inl j)))); last first.
  apply: ler_add; first by apply: ler_sum => j _; apply: one.
  apply: ler_paddr; first by apply: sumr_ge0.
  rewrite [X in _ <= X]sum_vertices -addrA ler_addl addr_ge0 ?addr_ge0 //; exact: sumr_ge0.
rewrite (sum_val _ internal_nodes_uniq internal_sub) big_mkcond -big_split ler_sum // => j _ /=.
rewrite /leaves_set /= source_S sink_S andbT /in_S.
have -> : node_vertex (val j) = inl (inl j) by rewrite /node_vertex inord_val.
have [j_internal|/negbTE j_internal] := boolP (nat_of_ord j \in internal); last by rewrite !mulr0 addr0.
case: (_ \in S); rewrite /= ?mul1r ?mul0r ?addr0 ?add0r //.
Qed.

(** ** Its flows are the flows of certificate.v *)

Section Flow.

Variable g : vertex * vertex -> R.
Hypothesis g_bounds : forall e, 0 <= g e <= capacity e.
Hypothesis g_conserved : forall v, v != source -> v != sink -> into g v = out_of g v.

Lemma g_ge0 e : 0 <= g e. Proof. by case/andP: (g_bounds e). Qed.
Lemma g_le e : g e <= capacity e. Proof. by case/andP: (g_bounds e). Qed.
Lemma g_zero e : capacity e = 0 -> g e = 0.
Proof. by move=> e0; apply: le_anti; rewrite g_ge0 -{1}e0 g_le. Qed.

Definition sent h k i : R := \sum_(ki : 'I_K * 'I_N | (val ki.1 == k) && (val ki.2 == i)) g (node_vertex h, inl (inr ki)).
Definition sharing k i h : nat := #|[pred t : 'I_J | first_use I t k i == Some h]|.
Definition drained h : R := g (node_vertex h, sink).

Definition flow_of : flow R := {|
  to_unit := fun t k i => if first_use I t k i is Some h then sent h k i / (sharing k i h)%:R else 0;
  up := fun h => \sum_j g (node_vertex h, inl (inl j));
  gain_arc := fun h => if 0 < gain h then g (source, node_vertex h)
                       else if gain h < 0 then drained h - Num.min (drained h) (split_limit h) else 0;
  split_arc := fun h => Num.min (drained h) (split_limit h)
|}.

Lemma sentE h (k : 'I_K) (i : 'I_N) : sent h k i = g (node_vertex h, inl (inr (k, i))).
Proof. by rewrite /sent (big_pred1 (k, i)) // => -[k' i']. Qed.

Lemma drained_le h : h \in internal -> drained h <= (if gain h < 0 then q * `|gain h| else 0) + split_limit h.
Proof. by move=> h_internal; have := g_le (node_vertex h, sink); rewrite /= inordE ?internal_sub // h_internal. Qed.

(** What node h sends to a unit is shared out among the trees that first use it there. *)
Lemma shared_out h (k : 'I_K) (i : 'I_N) : h \in nodes F ->
  \sum_(t < J | first_use I t k i == Some h) to_unit flow_of t k i = g (node_vertex h, inl (inr (k, i))).
Proof.
move=> h_node; have -> : \sum_(t < J | first_use I t k i == Some h) to_unit flow_of t k i
    = \sum_(t < J | first_use I t k i == Some h) sent h k i / (sharing k i h)%:R.
  by apply: eq_bigr => t /eqP use; rewrite /= use.
rewrite sumr_const -/(sharing k i h) sentE.
have [shared0|shared] := posnP (sharing k i h); last first.
  by rewrite -mulr_natr divfK // pnatr_eq0 -lt0n.
rewrite shared0 mulr0n g_zero //=; case: existsP => // -[t use].
by move/card0_eq/(_ t): shared0; rewrite !inE inordE // in use *; rewrite use.
Qed.

Lemma intoE v : into g v = \sum_u g (u, v).
Proof.
transitivity (\sum_u \sum_w (w == v)%:R * g (u, w)); first by rewrite pair_bigA; apply: eq_bigr => -[].
apply: eq_bigr => u _; rewrite (bigD1 v) //= eqxx mul1r big1 ?addr0 // => w /negbTE->.
by rewrite mul0r.
Qed.

Lemma out_ofE v : out_of g v = \sum_w g (v, w).
Proof.
transitivity (\sum_u \sum_w (u == v)%:R * g (u, w)); first by rewrite pair_bigA; apply: eq_bigr => -[].
rewrite (bigD1 v) //= [X in _ + X]big1 ?addr0 => [|u /negbTE->]; first by apply: eq_bigr => w _; rewrite eqxx mul1r.
by rewrite big1 // => w _; rewrite mul0r.
Qed.

Lemma from_source h : h \in internal -> (if 0 < gain h then gain_arc flow_of h else 0) = g (source, node_vertex h).
Proof.
move=> h_internal; case: ifP => [gain_pos|gain_pos]; first by rewrite /= gain_pos.
by rewrite g_zero //= inordE ?internal_sub // gain_pos andbF.
Qed.

Lemma up_edge a c : (a, c) \in edges F -> g (node_vertex c, node_vertex a) = if c \in leaves F then 0 else up flow_of c.
Proof.
move=> edge; have [a_node c_node] := edge_nodes edge; case: ifP => [c_leaf|_].
  by rewrite g_zero //= !inordE // edge mem_filter c_leaf.
rewrite /= (bigD1 (inord a)) //= [X in _ + X]big1 ?addr0 // => b b_a.
rewrite g_zero //= inordE //; case: ifP => // /andP[edge_b _].
by move: b_a; rewrite -(one_parent edge_b edge) inord_val eqxx.
Qed.

Lemma conserved_at h : h \in internal ->
  (if 0 < gain h then gain_arc flow_of h else 0) + \sum_(c <- children h) (if c \in leaves F then 0 else up flow_of c)
  = up flow_of h + to_units I flow_of h + split_arc flow_of h + (if gain h < 0 then gain_arc flow_of h else 0).
Proof.
move=> h_internal; have h_node := internal_sub h_internal.
have children_sub : {subset children h <= nodes F} by move=> c; rewrite mem_children => /edge_nodes[].
have flows_in : into g (node_vertex h) = (if 0 < gain h then gain_arc flow_of h else 0)
    + \sum_(c <- children h) (if c \in leaves F then 0 else up flow_of c).
  rewrite intoE sum_vertices [X in _ + X + _]big1 ?addr0 => [|[k i] _]; last by rewrite g_zero.
  rewrite (g_zero (_ : capacity (sink, _) = 0)) // addr0 addrC from_source //; congr (_ + _).
  transitivity (\sum_(c <- children h) g (node_vertex c, node_vertex h)); last first.
    by apply: eq_big_seq => c; rewrite mem_children => /up_edge->.
  rewrite -(sum_inord (fun j => g (inl (inl j), node_vertex h)) (children_uniq h) children_sub) [RHS]big_mkcond.
  apply: eq_bigr => j _; case: ifPn => // j_child; rewrite g_zero //= inordE //.
  by move: j_child; rewrite mem_children => /negbTE->.
have flows_out : out_of g (node_vertex h) = up flow_of h + to_units I flow_of h + drained h.
  rewrite out_ofE sum_vertices (g_zero (_ : capacity (_, source) = 0)) ?add0r //; congr (_ + _ + _).
  transitivity (\sum_k \sum_i g (node_vertex h, inl (inr (k, i)))); first by rewrite pair_bigA; apply: eq_bigr => -[].
  by apply: eq_bigr => k _; apply: eq_bigr => i _; rewrite shared_out.
rewrite -flows_in g_conserved // flows_out -!addrA; congr (_ + (_ + _)).
have := drained_le h_internal; rewrite /flow_of /=.
case: ltrgt0P => [_|_ _|_]; rewrite ?add0r ?addr0; last 1 first.
- by move=> /min_idPl->.
- by move=> /min_idPl->.
by rewrite addrC subrK.
Qed.

Lemma unit_kept_within (k : 'I_K) (i : 'I_N) :
  \sum_(t < J | first_use I t k i != None) to_unit flow_of t k i <= p * price I k.
Proof.
pose at_unit : vertex := inl (inr (k, i)).
have -> : \sum_(t < J | first_use I t k i != None) to_unit flow_of t k i = into g at_unit.
  rewrite intoE sum_vertices [X in _ + X + _]big1 ?addr0 => [|[k' i'] _]; last by rewrite g_zero.
  rewrite !(g_zero (_ : capacity (inr _, at_unit) = 0)) ?addr0 //.
  transitivity (\sum_(h <- nodes F) g (node_vertex h, at_unit)); last first.
    rewrite -(sum_inord (fun j => g (inl (inl j), at_unit)) distinct) // big_mkcond; apply: eq_bigr => j _.
    case: ifPn => // j_node; rewrite g_zero //=; case: existsP => // -[t /eqP use].
    by rewrite (first_use_node well_formed_I _ _ _ use) in j_node.
  transitivity (\sum_(h <- nodes F) \sum_(t < J | first_use I t k i == Some h) to_unit flow_of t k i); last first.
    by apply: eq_big_seq => h; apply: shared_out.
  rewrite (exchange_big_dep (fun t : 'I_J => first_use I t k i != None)) => [|h t _ /eqP->] //.
  apply: eq_bigr => t; case use: first_use => [u|//] _.
  have u_node := first_use_node well_formed_I (ltn_ord t) (ltn_ord k) (ltn_ord i) use.
  by rewrite (eq_bigl (fun h => u == h)) => [|h]; rewrite ?sum_only ?distinct.
rewrite g_conserved // out_ofE sum_vertices !big1 => [|[k' i'] _|j _]; do ?by rewrite g_zero.
by rewrite g_zero // !add0r; apply: g_le.
Qed.

Theorem flow_of_valid : valid_flow I p q flow_of.
Proof.
split=> [h h_internal|h h_internal|h _|h h_root|t k i tT kK iN|k i kK iN|h h_internal].
- have h_node := internal_sub h_internal; have := drained_le h_internal; rewrite /=.
  case: ltrgt0P => [gain_pos _|gain_neg|gain0 _].
  + have := g_le (source, node_vertex h); rewrite /= inordE // h_internal gain_pos => ->.
    by rewrite g_ge0.
  + rewrite -ler_subl_addr => le_gain; rewrite subr_ge0 le_minl lexx /=.
    by have [_|//] := leP (drained h) (split_limit h); rewrite subrr mulr_ge0 // oppr_ge0 ltW.
  + by rewrite lexx mulr0 lexx.
- by rewrite /= le_minr g_ge0 split_limit_ge0 //= le_minl lexx orbT.
- by apply: sumr_ge0 => j _; apply: g_ge0.
- rewrite /= big1 // => j _; rewrite g_zero //=; have r_node : h \in nodes F.
    by rewrite (perm_mem (perm_nodes F)) mem_cat h_root.
  by rewrite inordE // (negbTE (no_edge_to_root _ h_root)).
- rewrite /=; case: first_use => [u|//]; rewrite divr_ge0 ?ler0n //; apply: sumr_ge0 => ki _; exact: g_ge0.
- exact: (unit_kept_within (Ordinal kK) (Ordinal iN)).
exact: conserved_at.
Qed.

Lemma flow_value_of : flow_value I flow_of = \sum_(v | v != source) g (source, v).
Proof.
rewrite [RHS]big_mkcond sum_vertices /= [X in _ + X + _]big1 ?addr0 => [|[k i] _]; last by rewrite g_zero.
rewrite add0r (g_zero (_ : capacity (source, sink) = 0)) // addr0.
rewrite /flow_value (eq_big_seq _ from_source).
rewrite -(sum_inord (fun j => g (source, inl (inl j))) internal_nodes_uniq internal_sub) big_mkcond.
by apply: eq_bigr => j _; case: ifPn => // /negbTE j_leaf; rewrite g_zero //= j_leaf.
Qed.

End Flow.
End Cuts.

(** ** The theorem *)

Theorem strong_duality kept : pruning I kept ->
  (forall kept', pruning I kept' -> weighted I q p (point_of I kept) <= weighted I q p (point_of I kept')) ->
  exists2 f : flow R, valid_flow I p q f & flow_value I f = cut_capacity I p q kept.
Proof.
move=> kept_pruning kept_best.
have kept_least kept' : pruning I kept' -> cut_capacity I p q kept <= cut_capacity I p q kept'.
  move=> kept'_pruning; have := kept_best kept' kept'_pruning.
  by rewrite !weighted_cut // ler_add2l.
have [//|g [g_bounds g_conserved g_large]] := maximum_flow capacity_ge0 _ (cuts_are_large kept_least).
have valid := flow_of_valid g_bounds g_conserved; exists (flow_of g) => //.
apply: le_anti; rewrite (flow_value_of g_bounds) g_large andbT -(flow_value_of g_bounds).
have [point_ok _] := point_of_feasible well_formed_I kept_pruning.
have := weak_duality well_formed_I visits_divide_I valid (feasible_box_nonnegative (feasible_01_box (point_of_feasible well_formed_I kept_pruning))).
by rewrite weighted_cut // ler_add2l.
Qed.

(** The same for the objective, with p / q = lambda in the units of errors and costs. *)
Corollary certificate_exists lambda kept : 0 < q -> (0 < error_examples I * T)%N ->
  q * (lambda * N%:R^-1) = p * (error_examples I * T)%:R^-1 -> pruning I kept ->
  (forall kept', pruning I kept' -> objective I lambda (point_of I kept) <= objective I lambda (point_of I kept')) ->
  exists2 f : flow R, valid_flow I p q f & flow_value I f = cut_capacity I p q kept.
Proof.
move=> q_gt0 counted ratio kept_pruning kept_best; apply: strong_duality => // kept' /kept_best better.
have unit_gt0 : 0 < (error_examples I * T)%:R^-1 :> R by rewrite invr_gt0 ltr0n.
have scaled s : q * objective I lambda s = (error_examples I * T)%:R^-1 * weighted I q p s.
  rewrite objective_weighted /weighted !(mulrDr _ (_ * errors I s)); congr (_ + _); first by rewrite mulrCA.
  by rewrite mulrA ratio mulrA [p * _]mulrC.
by rewrite -(ler_pmul2l unit_gt0) -!scaled ler_pmul2l.
Qed.

End Duality.

Print Assumptions strong_duality.
Print Assumptions certificate_exists.
