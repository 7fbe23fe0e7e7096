(** * A flow proves that a pruning is optimal

    This is the certificate that ipforest writes: numbers p >= 0 and q > 0 with p / q = lambda in the units of the
    data, a flow in the network of the closure form, and a pruning whose cut has the capacity that the flow has
    value.  The theorem says that whoever checks these inequalities has checked that the pruning is at least as good
    as every point of the relaxation, so as every pruning. *)

Set Warnings "-notation-overridden,-ambiguous-paths".
From mathcomp Require Import all_ssreflect all_algebra.
From IpForest Require Import forest program integrality.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Certificate.

Variables (R : realFieldType) (I : instance R).

Local Notation F := (trees I).
Local Notation T := (size F).
Local Notation J := (asks I).
Local Notation K := (units I).
Local Notation N := (examples I).

Local Notation internal := (internal_nodes F).
Local Notation children := (children F).

(** ** The certificate *)

(** What keeping h as an internal node gains in errors. *)
Definition gain h : R := error I h - \sum_(c <- children h) error I c.

(** Every example that reaches an internal node goes on to one child. *)
Definition visits_divide : Prop :=
  forall h, h \in internal -> visits I h = \sum_(c <- children h) visits I c.

Record flow := Flow {
  to_unit : nat -> nat -> nat -> R;   (* (t, k, i): from u_{t,k,i} to the acquisition (k, i) *)
  up : nat -> R;                      (* from h to its parent *)
  gain_arc : nat -> R;                (* from the source to h if gain h > 0, from h to the sink if gain h < 0 *)
  split_arc : nat -> R                (* from h to the sink, for the splits at h *)
}.

Variables p q : R.

(** What the acquisitions first needed at h take away from h. *)
Definition to_units (f : flow) h : R :=
  \sum_(k < K) \sum_(i < N) \sum_(t < J | first_use I t k i == Some h) to_unit f t k i.

Record valid_flow (f : flow) : Prop := ValidFlow {
  gain_capacity : forall h, h \in internal -> 0 <= gain_arc f h <= q * `|gain h|;
  split_capacity : forall h, h \in internal ->
    0 <= split_arc f h <= p * (split_price I * visits I h);
  up_nonnegative : forall h, h \in internal -> 0 <= up f h;
  up_root : forall h, h \in roots F -> up f h = 0;
  to_unit_nonnegative : forall t k i, (t < J)%N -> (k < K)%N -> (i < N)%N -> 0 <= to_unit f t k i;
  unit_capacity : forall k i, (k < K)%N -> (i < N)%N ->
    \sum_(t < J | first_use I t k i != None) to_unit f t k i <= p * price I k;
  conservation : forall h, h \in internal ->
    (if 0 < gain h then gain_arc f h else 0) + \sum_(c <- children h) (if c \in leaves F then 0 else up f c)
    = up f h + to_units f h + split_arc f h + (if gain h < 0 then gain_arc f h else 0)
}.

(** The flow out of the source. *)
Definition flow_value (f : flow) : R := \sum_(h <- internal) (if 0 < gain h then gain_arc f h else 0).

(** The capacity of the arcs that leave the source side: the source and what is kept and acquired. *)
Definition cut_capacity (kept : pred nat) : R :=
  \sum_(h <- internal)
    (if kept h then (if gain h < 0 then q * `|gain h| else 0) + p * (split_price I * visits I h)
     else if 0 < gain h then q * gain h else 0)
  + \sum_(k < K) \sum_(i < N | acquired I kept k i) p * price I k.

(** What the pruning is worth in the closure form: gains less costs. *)
Definition worth (kept : pred nat) : R :=
  \sum_(h <- internal | kept h) (q * gain h - p * (split_price I * visits I h))
  - \sum_(k < K) \sum_(i < N | acquired I kept k i) p * price I k.

(** What the source could send at most. *)
Definition source_capacity : R := \sum_(h <- internal) (if 0 < gain h then q * gain h else 0).

(** So "flow = cut" is "worth = source capacity - flow", the equality that ipforest's checker tests. *)
Lemma cut_worth kept : cut_capacity kept = source_capacity - worth kept.
Proof.
rewrite opprB addrCA addrC; congr (_ + _); rewrite [X in _ - X]big_mkcond -sumrB; apply: eq_bigr => h _.
case: (kept h); rewrite ?subr0 // opprB.
case: ltrgt0P => [_|_|->]; rewrite ?mulr0 ?add0r ?subr0 //; first by rewrite addrCA subrr addr0.
by rewrite mulrN addrC.
Qed.

(** ** Weak duality *)

Hypothesis well_formed_I : well_formed I.
Hypothesis visits_divide_I : visits_divide.

Local Notation distinct := (distinct_nodes well_formed_I).
Local Notation x := (x I).

Implicit Types (s : point R) (f : flow).

Lemma sum_only (r : seq nat) a (g : nat -> R) : uniq r -> a \in r -> \sum_(h <- r | a == h) g h = g a.
Proof.
move=> uniq_r a_r; rewrite big_mkcond (bigD1_seq a) //= eqxx big1 ?addr0 // => h.
by rewrite eq_sym => /negbTE->.
Qed.

Lemma sum_nodes (g : nat -> R) :
  \sum_(h <- nodes F) g h = \sum_(r <- roots F) g r + \sum_(e <- edges F) g e.2.
Proof. by rewrite (perm_big _ (perm_nodes F)) big_cat [X in _ + X = _]big_map. Qed.

(** Summing over parents and their children is summing over edges. *)
Lemma sum_children (g g' : nat -> R) :
  \sum_(h <- nodes F) g h * (\sum_(c <- children h) g' c) = \sum_(e <- edges F) g e.1 * g' e.2.
Proof.
transitivity (\sum_(h <- nodes F) \sum_(e <- edges F | e.1 == h) g h * g' e.2).
  by apply: eq_bigr => h _; rewrite big_map big_filter mulr_sumr.
rewrite (exchange_big_dep xpredT) //=; apply: eq_big_seq => -[a c] e_edge /=.
have [a_node _] := path_to_child distinct e_edge.
by rewrite (sum_only _ distinct a_node).
Qed.

(** The sum of m_h z_h by parts. *)
Lemma sum_by_parts (m : nat -> R) s :
  \sum_(h <- nodes F) m h * z s h =
  \sum_(r <- roots F) m r - \sum_(h <- nodes F) x s h * (m h - \sum_(c <- children h) m c).
Proof.
have above h q' : path_to F h = rcons q' h -> z s h = 1 - \sum_(u <- q') z s u - x s h.
  by move=> p_h; rewrite -(x_above s p_h) addrC addKr.
under [X in _ = _ - X]eq_bigr do rewrite mulrBr.
rewrite sumrB sum_children opprB addrA [LHS]sum_nodes [X in _ - X]sum_nodes opprD addrA.
have -> : \sum_(r <- roots F) m r * z s r = \sum_(r <- roots F) m r - \sum_(r <- roots F) x s r * m r.
  rewrite -sumrB; apply: eq_big_seq => r r_root.
  by rewrite (above r [::]) ?(path_to_root distinct r_root) // big_nil subr0 mulrBr mulr1 [m r * _]mulrC.
rewrite -!addrA; congr (_ + _); rewrite [RHS]addrCA; congr (_ + _); rewrite -sumrB.
apply: eq_big_seq => -[a c] e_edge /=; have [_ p_c] := path_to_child distinct e_edge.
by rewrite (above c _ p_c) -/(x s a) mulrBr ![m c * _]mulrC.
Qed.

Lemma x_leaf s h : constraints I s -> h \in leaves F -> x s h = 0.
Proof. by case=> one_leaf _ _ /one_leaf; rewrite /integrality.x => ->; rewrite subrr. Qed.

Lemma sum_internal s (g : nat -> R) : constraints I s ->
  \sum_(h <- nodes F) x s h * g h = \sum_(h <- internal) x s h * g h.
Proof.
move=> s_constraints; rewrite big_filter [RHS]big_mkcond; apply: eq_bigr => h _.
by case: ifPn => // /negPn h_leaf; rewrite (x_leaf s_constraints h_leaf) mul0r.
Qed.

Lemma internal_node h : h \in internal -> h \in nodes F.
Proof. by rewrite mem_filter => /andP[]. Qed.

Lemma depth_root r : r \in roots F -> depth F r = 0%N.
Proof. by move=> r_root; rewrite /depth (path_to_root distinct r_root). Qed.

Lemma depth_child a c : (a, c) \in edges F -> depth F c = (depth F a).+1.
Proof.
move=> e_edge; have [a_node p_c] := path_to_child distinct e_edge.
have [q' p_a _] := path_toE distinct a_node.
by rewrite /depth p_c p_a !size_rcons.
Qed.

(** The cost of splits, sum |S_h| d_h z_h, is paid by the nodes that are kept: sum |S_h| x_h. *)
Lemma sum_splits s : constraints I s ->
  \sum_(h <- nodes F) visits I h * (depth F h)%:R * z s h = \sum_(h <- internal) x s h * visits I h.
Proof.
move=> s_constraints; rewrite sum_by_parts.
have -> : \sum_(r <- roots F) visits I r * (depth F r)%:R = 0.
  by rewrite big_seq big1 // => r r_root; rewrite depth_root ?mulr0.
rewrite sub0r.
rewrite sum_internal // -sumrN; apply: eq_big_seq => h h_internal.
rewrite -mulrN opprB; congr (_ * _); rewrite (visits_divide_I h_internal) mulr_suml -sumrB.
apply: eq_big_seq => c /mapP[[a c']]; rewrite mem_filter /= => /andP[/eqP-> /depth_child d_c] ->.
by rewrite d_c -addn1 natrD mulrDr mulr1 addrAC subrr add0r.
Qed.

(** The objective of the closure form. *)
Lemma weighted_closure s : constraints I s ->
  weighted I q p s = q * (\sum_(r <- roots F) error I r)
    + (\sum_(h <- internal) x s h * (p * (split_price I * visits I h) - q * gain h)
       + \sum_(k < K) \sum_(i < N) w s k i * (p * price I k)).
Proof.
move=> s_constraints; rewrite /weighted /errors /costs sum_by_parts sum_splits //.
rewrite mulrBr -addrA; congr (_ + _); rewrite mulrDr [p * _ + p * _]addrC addrA; congr (_ + _); last first.
  rewrite mulr_sumr; apply: eq_bigr => k _; rewrite mulrA mulr_sumr.
  by apply: eq_bigr => i _; rewrite mulrC.
rewrite sum_internal // [- _ + _]addrC !mulr_sumr -sumrB; apply: eq_bigr => h _.
by rewrite mulrBr -/(gain h) !(mulrCA _ (x s h)).
Qed.

Definition constant : R := q * (\sum_(r <- roots F) error I r) - source_capacity.

Lemma weighted_cut kept : pruning I kept -> weighted I q p (point_of I kept) = constant + cut_capacity kept.
Proof.
move=> kept_pruning; have [s_constraints _] := point_of_feasible well_formed_I kept_pruning.
rewrite weighted_closure // /constant -addrA; congr (_ + _); rewrite addrA; congr (_ + _); last first.
  apply: eq_bigr => k _; rewrite [RHS]big_mkcond; apply: eq_bigr => i _ /=.
  by case: acquired; rewrite ?mul1r ?mul0r.
rewrite addrC -sumrB; apply: eq_big_seq => h h_internal.
rewrite (x_point_of well_formed_I kept_pruning (internal_node h_internal)).
case: (kept h); rewrite ?mul0r ?subrr // mul1r.
case: ltrgt0P => [gain_pos|gain_neg|->]; rewrite ?mulr0 ?add0r ?subr0 //.
by rewrite mulrN addrC.
Qed.

(** Weak duality: every flow bounds the relaxation from below. *)
Theorem weak_duality f s : valid_flow f -> feasible I s -> constant + flow_value f <= weighted I q p s.
Proof.
move=> [gain_cap split_cap up_ge0 up_root0 to_unit_ge0 unit_cap conserve] s_feasible.
have [s_constraints [z_ge0 _ w_ge0]] := s_feasible; have [_ usage shared] := s_constraints.
have x_ge0 h : h \in internal -> 0 <= x s h.
  by move=> /internal_node/(x_bounds well_formed_I s_feasible)/andP[].
have x_le1 h : h \in internal -> x s h <= 1.
  by move=> /internal_node/(x_bounds well_formed_I s_feasible)/andP[].
pose out h := if 0 < gain h then gain_arc f h else 0.
pose back h := if gain h < 0 then gain_arc f h else 0.
pose up' c := if c \in leaves F then 0 else up f c.
have conserved : \sum_(h <- internal) x s h * out h + \sum_(h <- internal) x s h * (\sum_(c <- children h) up' c)
    = \sum_(h <- internal) x s h * up' h + \sum_(h <- internal) x s h * to_units f h
      + \sum_(h <- internal) x s h * split_arc f h + \sum_(h <- internal) x s h * back h.
  rewrite -!big_split; apply: eq_big_seq => h h_internal /=; rewrite -!mulrDr /up' conserve //.
  by move: h_internal; rewrite mem_filter => /andP[/negbTE-> _].
have up_grows : \sum_(h <- internal) x s h * up' h <= \sum_(h <- internal) x s h * (\sum_(c <- children h) up' c).
  rewrite -!sum_internal // sum_children sum_nodes [\sum_(r <- roots F) _]big_seq big1 ?add0r.
    rewrite big_seq [X in _ <= X]big_seq ler_sum // => -[a c] e_edge /=.
    have [_ p_c] := path_to_child distinct e_edge.
    have c_node : c \in nodes F.
      by rewrite (perm_mem (perm_nodes F)) mem_cat (map_f snd e_edge) orbT.
    rewrite ler_wpmul2r //; last by rewrite -[x s a](x_above s p_c) ler_addl z_ge0.
    by rewrite /up'; case: ifPn => // c_internal; rewrite up_ge0 // mem_filter c_internal.
  by move=> r /up_root0 up_r; rewrite /up' up_r if_same mulr0.
have to_units_paid : \sum_(h <- internal) x s h * to_units f h
    <= \sum_(k < K) \sum_(i < N) w s k i * (p * price I k).
  have -> : \sum_(h <- internal) x s h * to_units f h = \sum_(k < K) \sum_(i < N)
      \sum_(h <- internal) \sum_(t < J | first_use I t k i == Some h) x s h * to_unit f t k i.
    under eq_bigr do rewrite mulr_sumr.
    rewrite exchange_big; apply: eq_bigr => k _; under eq_bigr do rewrite mulr_sumr.
    by rewrite exchange_big; apply: eq_bigr => i _; apply: eq_bigr => h _; rewrite mulr_sumr.
  apply: ler_sum => k _; apply: ler_sum => i _.
  apply: (@le_trans _ _ (w s k i * (\sum_(t < J | first_use I t k i != None) to_unit f t k i))); last first.
    by rewrite ler_wpmul2l ?w_ge0 ?unit_cap.
  rewrite (exchange_big_dep (fun t : 'I_J => first_use I t k i != None)) => [|h t _ /eqP->] //=.
  rewrite mulr_sumr ler_sum // => t; case use: first_use => [u|//] _.
  have u_internal := first_use_internal well_formed_I (ltn_ord t) (ltn_ord k) (ltn_ord i) use.
  rewrite (eq_bigl (fun h => u == h)) => [|h]; last by rewrite eqE.
  rewrite (sum_only _ _ u_internal) ?filter_uniq ?distinct // ler_wpmul2r ?to_unit_ge0 //.
  apply: le_trans (shared t k i (ltn_ord t) (ltn_ord k) (ltn_ord i)).
  by rewrite /integrality.x -(usage t k i u (ltn_ord t) (ltn_ord k) (ltn_ord i) use) addrK.
have splits_paid : \sum_(h <- internal) x s h * split_arc f h
    <= \sum_(h <- internal) x s h * (p * (split_price I * visits I h)).
  rewrite big_seq [X in _ <= X]big_seq ler_sum // => h h_internal.
  by rewrite ler_wpmul2l ?x_ge0 //; case/andP: (split_cap h h_internal).
have out_paid : \sum_(h <- internal) x s h * out h - \sum_(h <- internal) x s h * back h
    <= \sum_(h <- internal) x s h * (p * (split_price I * visits I h))
       + \sum_(k < K) \sum_(i < N) w s k i * (p * price I k).
  rewrite ler_subl_addr -(ler_add2r (\sum_(h <- internal) x s h * (\sum_(c <- children h) up' c))) conserved.
  rewrite [X in _ <= X]addrAC ler_add2r [X in _ <= X]addrC [X in _ <= _ + X]addrC addrA.
  by rewrite ler_add // ler_add.
rewrite weighted_closure // /constant -addrA ler_add2l addrC.
under [X in _ <= X + _]eq_bigr do rewrite mulrBr.
rewrite sumrB addrAC ler_subr_addr; apply: le_trans out_paid.
rewrite /flow_value /source_capacity -!sumrB -big_split big_seq [X in _ <= X]big_seq ler_sum // => h h_internal.
have /andP[arc_ge0 arc_le] := gain_cap h h_internal; move: arc_le; rewrite /out /back /=.
case: ltrgt0P => [gain_pos|gain_neg|->] arc_le.
- rewrite mulr0 subr0 -ler_subr_addr -mulrBr ler_nimull ?x_le1 //.
  by rewrite subr_le0.
- by rewrite subr0 add0r mulr0 sub0r -mulrN ler_wpmul2l ?x_ge0 // ler_oppr -mulrN.
- by rewrite !mulr0 !subr0 addr0.
Qed.

(** A flow whose value is the capacity of a pruning's cut proves that the pruning is optimal. *)
Theorem certificate_weighted f kept : valid_flow f -> pruning I kept -> flow_value f = cut_capacity kept ->
  forall s, feasible I s -> weighted I q p (point_of I kept) <= weighted I q p s.
Proof. by move=> f_valid /weighted_cut-> <- s; apply: weak_duality. Qed.

(** The same for the objective, with p / q = lambda in the units of errors and costs. *)
Theorem certificate_optimal lambda f kept :
  0 < q -> q * (lambda * N%:R^-1) = p * (error_examples I * T)%:R^-1 ->
  valid_flow f -> pruning I kept -> flow_value f = cut_capacity kept ->
  forall s, feasible I s -> objective I lambda (point_of I kept) <= objective I lambda s.
Proof.
move=> q_gt0 ratio f_valid kept_pruning tight s s_feasible.
have scaled s' : q * objective I lambda s' = (error_examples I * T)%:R^-1 * weighted I q p s'.
  rewrite objective_weighted /weighted !(mulrDr _ (_ * errors I s')); congr (_ + _); first by rewrite mulrCA.
  by rewrite mulrA ratio mulrA [p * _]mulrC.
rewrite -(ler_pmul2l q_gt0) !scaled ler_wpmul2l ?invr_ge0 ?ler0n //.
exact: certificate_weighted f_valid kept_pruning tight s s_feasible.
Qed.

End Certificate.

(** ** An example on Figure 1 at p = q = 1, where it is worth to keep everything

    The nodes 3 and 6 gain two errors each and node 10 one.  Node 3 pays for unit 2 and, through its parent, for unit 1,
    node 10 for unit 3, and node 6 need not pay. *)

Section Example.

Variable R : realFieldType.

Definition figure1_errors (h : nat) : R := (nth 0 [:: 0; 3; 1; 2; 0; 0; 5; 1; 1; 0; 2; 0; 1] h)%N%:R.
Definition figure1_data : instance R := figure1_instance figure1_errors.

Definition figure1_flow : flow R := {|
  to_unit := fun t k i => ((t, k) \in [:: (0, 1); (0, 2); (1, 3)])%N%:R;
  up := fun h => (h == 3)%N%:R;
  gain_arc := fun h => (2 * (h == 3) + (h == 10))%N%:R;
  split_arc := fun=> 0
|}.

Let gains h : h \in [:: 1; 3; 6; 7; 10]%N -> gain figure1_data h = (nth 0 [:: 0; 0; 0; 2; 0; 0; 2; 0; 0; 0; 1] h)%N%:R.
Proof.
by rewrite !inE => /or4P[|||/orP[]] /eqP->; rewrite /gain /= !big_cons big_nil addr0 -!natrD -natrB.
Qed.

Example figure1_flow_valid : valid_flow figure1_data 1 1 figure1_flow.
Proof.
split=> [h|h|h _|h|t k i _ _ _|k i|h]; rewrite ?ler0n //.
- rewrite figure1_internal => h_in; rewrite gains // mul1r normr_nat /= ler_nat.
  by move: h_in; rewrite !inE => /or4P[|||/orP[]] /eqP->.
- by rewrite mul1r mul0r lexx.
- by rewrite !inE => /orP[]/eqP->.
- case: k i => [|[|[|[|//]]]] [|//] _ _; rewrite big_mkcond !big_ord_recl big_ord0 /= mulr1 ?addr0 ?add0r //; exact: ler01.
rewrite figure1_internal => h_in; rewrite gains //; move: h_in.
have units_of : to_units figure1_data figure1_flow h = (Some 1 == Some h)%N%:R + ((Some 3 == Some h)%N%:R + (Some 10 == Some h)%N%:R).
  rewrite /to_units; under eq_bigr do under eq_bigr do rewrite big_mkcond.
  by rewrite !big_ord_recl !big_ord0 /= !addr0 ?add0r if_same addr0; do !case: ifP.
by rewrite units_of !inE => /or4P[|||/orP[]] /eqP->; rewrite ?ltr0n ?ltrn0 /= !big_cons big_nil /= !(add0r, addr0).
Qed.

Example figure1_flow_proves : flow_value figure1_data figure1_flow = cut_capacity figure1_data 1 1 (mem [:: 1; 3; 6; 7; 10]%N).
Proof.
have used (k : 'I_4) (i : 'I_1) : acquired figure1_data (mem [:: 1; 3; 6; 7; 10]%N) k i = (0 < k)%N.
  case: k => -[|[|[|[|//]]]] ?; apply/existsP; first by case=> -[[|[|//]]].
  - by exists ord0.
  - by exists ord0.
  by exists ord_max.
rewrite /flow_value /cut_capacity figure1_internal.
under [X in _ = _ + X]eq_bigr do under eq_bigl do rewrite used.
under [X in _ = _ + X]eq_bigr do rewrite big_mkcond.
rewrite !big_ord_recl !big_ord0 !big_cons !big_nil !gains //= !(mul0r, mulr0, mulr1, addr0, add0r) ?ltr0n ?ltrn0 /=.
by rewrite !(muln1, muln0, addn0, add0n, add0r, addr0) -!natrD.
Qed.

End Example.

Print Assumptions weighted_cut.
Print Assumptions weak_duality.
Print Assumptions certificate_optimal.
